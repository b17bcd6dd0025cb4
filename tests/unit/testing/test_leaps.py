"""The arithmetic of a clock that is set forward."""

from hypothesis import given
from hypothesis import strategies as st

from tailfin.testing.leaps import Leaps


def leaps_of(*steps: tuple[int, int]) -> Leaps:
    leaps = Leaps()
    for machine, by in steps:
        leaps.add(machine, by)
    return leaps


def test_without_a_leap_it_is_the_machines_time() -> None:
    leaps = leaps_of()
    assert (leaps.ahead, leaps.shown_at(7), leaps.machine_at(7)) == (0, 7, 7)


def test_each_leap_moves_what_comes_after_it() -> None:
    leaps = leaps_of((100, 50), (200, 1000))
    assert leaps.ahead == 1050
    assert [leaps.shown_at(each) for each in (99, 100, 101, 200, 201)] == [99, 100, 151, 250, 1251]


def test_times_that_were_leapt_over_belong_to_the_moment_of_the_leap() -> None:
    leaps = leaps_of((100, 50), (200, 1000))
    assert [leaps.machine_at(each) for each in (99, 100, 130, 150, 151)] == [99, 100, 100, 100, 101]
    assert [leaps.machine_at(each) for each in (250, 1000, 1250, 1251)] == [200, 200, 200, 201]


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50)), max_size=6),
    st.integers(0, 300),
)
def test_the_way_back_is_the_last_moment_that_showed_no_more(
    steps: list[tuple[int, int]], shown: int
) -> None:
    leaps, machine = Leaps(), 0
    for wait, by in steps:
        machine += wait
        leaps.add(machine, by)
    found = leaps.machine_at(shown)
    assert leaps.shown_at(found) <= shown < leaps.shown_at(found + 1)
