"""Whether a half is due: a decision over its own words and the clock, with nothing else in it."""

from dataclasses import dataclass, field
from enum import Enum, auto

from tailfin.broker.clock import Clock
from tailfin.broker.transactions import halves
from tailfin.message import Message


class Verdict(Enum):
    """What a round does with an open half."""

    NOT_YET = auto()
    """Too young, and so are those behind it."""
    IMMUNE = auto()
    """Its producer asked for more time than usual."""
    ASK = auto()
    GIVE_UP = auto()
    OVER = auto()
    """It was committed before the start, and only the op record was lost."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the settings say, and when the round began."""

    now_ms: int
    round_began_ms: int
    timeout_ms: int
    checks_max: int
    age_max_ms: int
    clock: Clock = field(default_factory=Clock)
    """What `now_ms` and `round_began_ms` were read from; halves carry the machine's time."""


def judge(half: Message, rules: Rules) -> Verdict:
    """Decide about a half that is open."""
    age_ms = rules.now_ms - rules.clock.at_ms(half.born_timestamp)
    checks = halves.check_times(half)
    if (checks is not None and checks >= rules.checks_max) or age_ms > rules.age_max_ms:
        return Verdict.GIVE_UP
    if rules.clock.at_ms(half.store_timestamp) >= rules.round_began_ms:
        return Verdict.NOT_YET
    if half.get_property(halves.IMMUNITY_S) is not None:
        immunity = halves.immunity_ms(half)
        return (
            Verdict.IMMUNE if age_ms <= (rules.timeout_ms if immunity is None else immunity) else Verdict.ASK
        )
    # A producer whose clock is ahead is asked at once: nobody can say how old its half is.
    return Verdict.NOT_YET if 0 <= age_ms <= rules.timeout_ms else Verdict.ASK


def is_late(half: Message, age_ms: int, timeout_ms: int) -> bool:
    """Whether a producer that named a time for itself ends its transaction after it, without being asked."""
    if not half.get_property(halves.IMMUNITY_S):
        return False
    return age_ms > max(halves.immunity_ms(half) or 0, timeout_ms)
