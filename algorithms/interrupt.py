"""A real Ctrl-C, as against a KeyboardInterrupt that a rule raises."""


class InterruptedByUser(KeyboardInterrupt):
    """Raised by the harness's signal handlers only; whoever catches what a rule raises lets it pass."""
