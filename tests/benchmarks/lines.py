"""One line a ratio, beside pytest-benchmark's table."""


def report(benchmark, name: str, value: float, bound: str) -> None:
    """Print one line of the table and keep the number beside the timing."""
    benchmark.extra_info[name] = value
    print(f"\n  {name:<66} {value:8.2f}   required {bound}", flush=True)
