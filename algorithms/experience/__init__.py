"""What learners see: transitions, from a table or in batches."""
