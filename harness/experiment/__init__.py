"""Contests: rules against each other on problems."""
