"""Engines: one rule, three speeds. Each offers `directions()` and a fused `step()` over many lanes."""
