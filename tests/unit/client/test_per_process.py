"""Things that a process makes once."""

import os

from tailfin.client.per_process import PerProcess


def test_a_thing_is_made_once_for_each_key() -> None:
    kept: PerProcess[str, object] = PerProcess()
    first = kept.get("a", object)
    assert kept.get("a", object) is first
    assert kept.get("b", object) is not first


def test_what_is_taken_is_made_anew() -> None:
    kept: PerProcess[str, object] = PerProcess()
    first = kept.get("a", object)
    assert kept.take_all() == [first]
    assert kept.take_all() == []
    assert kept.get("a", object) is not first


def test_a_forked_child_makes_its_own_and_takes_nothing_of_its_parent() -> None:
    kept: PerProcess[str, object] = PerProcess()
    first = kept.get("a", object)
    with kept._lock:  # as another thread may do in the instant of the fork
        child = os.fork()
        if not child:
            right = kept.take_all() == [] and kept.get("a", object) is not first
            os._exit(0 if right else 1)
    assert exit_code(child) == 0
    assert kept.get("a", object) is first


class Connection:
    """Something that is closed when nobody holds it."""

    def __init__(self) -> None:
        self.process = os.getpid()

    def __del__(self) -> None:
        if self.process != os.getpid():
            os._exit(2)


def test_what_parents_and_grandparents_made_is_never_closed_by_a_child() -> None:
    kept: PerProcess[str, Connection] = PerProcess()
    kept.get("a", Connection)
    child = os.fork()
    if not child:
        kept.get("a", Connection)
        grandchild = os.fork()
        if not grandchild:
            kept.get("a", Connection)
            os._exit(0)
        os._exit(exit_code(grandchild))
    assert exit_code(child) == 0


def exit_code(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
