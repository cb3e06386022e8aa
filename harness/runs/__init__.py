"""What to run, where results live, who runs it."""
