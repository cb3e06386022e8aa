"""xoshiro256++ once more, in Python's whole numbers: Blackman and Vigna 2019, as they publish it in C."""

MASK = (1 << 64) - 1


def rotated(x: int, k: int) -> int:
    """The 64 bits of x, turned left by k."""
    return (x << k | x >> 64 - k) & MASK


class Xoshiro:
    """One stream, from a state of four words."""

    def __init__(self, state) -> None:
        self.s = [int(word) for word in state]

    def word(self) -> int:
        """The next 64 bits."""
        s = self.s
        found = (rotated((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        shifted = s[1] << 17 & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = rotated(s[3], 45)
        return found

    def number(self) -> float:
        """In [0, 1), of the top 53 bits."""
        return (self.word() >> 11) / 2**53
