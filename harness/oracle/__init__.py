"""What is exactly true: problems, objectives, laws of the return, certificates."""
