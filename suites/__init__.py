"""Claims: what is said of an algorithm, and what would have to be seen for it to hold."""

__all__: list[str] = []  # suites are found through entry points, not imported
