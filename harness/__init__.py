"""Runs and judges: from a problem to evidence, and from evidence to a verdict."""
