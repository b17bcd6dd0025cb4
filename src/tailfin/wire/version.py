"""RocketMQ's releases as the numbers that travel in a header's `version`.

The number is a place in a list in which every release follows its snapshot. Minor releases 3.3 to 3.9
began at patch 1; from 4.0.0 on every minor release has patches 0 to 9.
"""


def ordinal(major: int, minor: int, patch: int) -> int:
    """Return the number of a release from 4.0.0 on."""
    return 213 + 200 * (major - 4) + 20 * minor + 2 * patch


V3_0_7_SNAPSHOT = 28
V3_0_11 = 37
V3_4_9 = 121
V4_9_3 = ordinal(4, 9, 3)
V4_9_4 = ordinal(4, 9, 4)
V5_0_0 = ordinal(5, 0, 0)
V5_3_1 = ordinal(5, 3, 1)
CURRENT = ordinal(5, 3, 3)
"""The release whose behaviour Tailfin's servers and clients declare."""


def _releases() -> dict[int, str]:
    names = [f"V3_0_{patch}" for patch in range(1, 16)]
    names += [f"V3_{minor}_{patch}" for minor in (1, 2) for patch in range(10)]
    names += [f"V3_{minor}_{patch}" for minor in range(3, 10) for patch in range(1, 10)]
    names += [f"V{major}_{minor}_{patch}" for major in (4, 5) for minor in range(10) for patch in range(10)]
    return {17 + 2 * place: name for place, name in enumerate(names)}


_NAMES = _releases()
_LAST = max(_NAMES)


def name(number: int) -> str:
    """Say a number's release, as `V5_3_3`; a snapshot with its suffix."""
    if number > _LAST:
        return "HIGHER_VERSION"
    if number in _NAMES:
        return _NAMES[number]
    if number + 1 in _NAMES:
        return f"{_NAMES[number + 1]}_SNAPSHOT"
    return "V3_0_0_SNAPSHOT"
