"""Three engines for the same rules. Each offers `directions()` and a fused `step()` over many lanes."""
