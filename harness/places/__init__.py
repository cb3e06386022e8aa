"""Worlds: lanes of environments, each on a random stream of its own."""
