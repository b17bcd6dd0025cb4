from hypothesis import given
from hypothesis import strategies as st

from tailfin.arrow.splitting import STRETCH_MIN, stretches


@given(st.integers(0, 100), st.integers(0, 100_000), st.integers(1, 20_000), st.integers(1, 5))
def test_stretches_cover_a_range_without_gap_or_overlap(
    start: int, count: int, rows: int, lanes: int
) -> None:
    found = list(stretches(start, start + count, rows, lanes))
    covered = [offset for first, end in found for offset in (first, end)]
    assert covered[:1] == ([start] if count else [])
    assert covered[1:-1:2] == covered[2::2]
    assert covered[-1:] == ([start + count] if count else [])


def test_a_long_range_is_read_in_stretches_of_a_batch() -> None:
    assert list(stretches(0, 40_000, 10_000, 3)) == [(at, at + 10_000) for at in range(0, 40_000, 10_000)]


def test_a_short_range_is_not_split_below_what_makes_a_good_batch() -> None:
    assert list(stretches(5, 105, 10_000, 3)) == [(5, 105)]
    assert [end - first for first, end in stretches(0, 2 * STRETCH_MIN, 10_000, 3)] == [STRETCH_MIN] * 2


def test_one_lane_takes_the_range_whole() -> None:
    assert list(stretches(0, 40_000, 10_000, 1)) == [(0, 40_000)]
