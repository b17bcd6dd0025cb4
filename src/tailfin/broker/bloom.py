"""The bits by which RocketMQ marks in a queue's extension which groups' filters a message passed.

Tailfin judges the message itself and needs no marks. They are in `consumerFilter.json`, though, and a Java
broker that takes over drops the whole file if they are not what it would have made.
"""

import math
from dataclasses import dataclass
from typing import Self

from tailfin.wire.bodies.filters import BloomFilterData

_64 = (1 << 64) - 1
_BLOCK = 16


@dataclass(frozen=True, slots=True)
class BloomFilter:
    """How many bits there are, and how many of them stand for one group."""

    hashes: int
    bits: int

    @classmethod
    def of(cls, error_percent: int, entries: int) -> Self:
        """Choose them for so many groups and so many false hits of a hundred."""
        rate = error_percent / 100.0
        bits = math.ceil(entries * (math.log(1 / rate) / math.log(2)) * (math.log(math.e) / math.log(2)))
        return cls(hashes=math.ceil(math.log(rate) / math.log(0.5)), bits=8 * math.ceil(bits / 8))

    def positions(self, text: str) -> BloomFilterData:
        """Return the bits that stand for a text."""
        low = murmur3_128_low(text.encode())
        first, second = low & 0xFFFF_FFFF, low >> 32
        positions = []
        for number in range(1, self.hashes + 1):
            combined = (first + number * second) & 0xFFFF_FFFF
            positions.append((combined ^ 0xFFFF_FFFF if combined >> 31 else combined) % self.bits)
        return BloomFilterData(bit_num=self.bits, bit_pos=positions)

    def is_valid(self, data: BloomFilterData | None) -> bool:
        """Tell whether bits were chosen with the same numbers."""
        return data is not None and data.bit_num == self.bits and len(data.bit_pos) == self.hashes


def murmur3_128_low(data: bytes) -> int:
    """Return the first 64 bits of MurmurHash3, the 128-bit one for 64-bit machines, with seed 0."""
    one, two = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = 0
    whole = len(data) // _BLOCK * _BLOCK
    for at in range(0, whole, _BLOCK):
        k1 = int.from_bytes(data[at : at + 8], "little")
        k2 = int.from_bytes(data[at + 8 : at + _BLOCK], "little")
        h1 ^= _turned(k1 * one, 31) * two & _64
        h1 = (_turned(h1, 27) + h2) * 5 + 0x52DCE729 & _64
        h2 ^= _turned(k2 * two, 33) * one & _64
        h2 = (_turned(h2, 31) + h1) * 5 + 0x38495AB5 & _64
    k1 = int.from_bytes(data[whole : whole + 8], "little")
    k2 = int.from_bytes(data[whole + 8 :], "little")
    h1 ^= _turned(k1 * one, 31) * two & _64
    h2 ^= _turned(k2 * two, 33) * one & _64
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = h1 + h2 & _64
    h2 = h2 + h1 & _64
    return _mixed(h1) + _mixed(h2) & _64


def _turned(value: int, by: int) -> int:
    value &= _64
    return (value << by | value >> 64 - by) & _64


def _mixed(value: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ value >> 33) * factor & _64
    return value ^ value >> 33
