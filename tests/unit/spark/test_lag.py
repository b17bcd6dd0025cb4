import pytest

from tailfin.spark.lag import lag_of


def test_lag_is_read_from_the_progress_of_a_source() -> None:
    assert lag_of('{"lag": {"messages": 7, "seconds": 1.5}, "queues": {}}') == (7, 1.5)


@pytest.mark.parametrize("other", [None, "None", "", "7", "[]", '{"orders": {}}', '{"lag": 3}'])
def test_progress_of_other_sources_tells_nothing(other: str | None) -> None:
    assert lag_of(other) is None
