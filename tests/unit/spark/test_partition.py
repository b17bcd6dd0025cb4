import pickle

import pytest

import tailfin
from tailfin.arrow.ranges import QueueRange
from tailfin.spark.errors import VersionMismatch
from tailfin.spark.partition import RangePartition

PART = QueueRange("orders", "broker-a", 0, 1, 9)


def test_a_partition_travels_with_the_version_that_planned_it() -> None:
    found = pickle.loads(pickle.dumps(RangePartition(PART)))

    found.check()
    assert (found.part, found.version) == (PART, tailfin.__version__)


def test_another_version_is_refused_with_both_names() -> None:
    said = f"the driver has tailfin 0.0.7 and this executor {tailfin.__version__}"
    with pytest.raises(VersionMismatch, match=said):
        RangePartition(PART, version="0.0.7").check()
