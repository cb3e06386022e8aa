"""Exact work of a step, and steps to compare it with."""
