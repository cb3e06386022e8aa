"""The gate on two commits, and the site."""
