from pathlib import Path

from tests.unit.store.conftest import Open


def test_opening_a_closed_store_enters_nothing_into_the_index_again(reopen: Open, tmp_path: Path) -> None:
    store = reopen()
    for number in range(10):
        store.append("T", b"x", keys=f"k{number}", tags="TagA")
    store.close()
    [index] = (tmp_path / "data" / "index").iterdir()
    before = index.read_bytes()
    for _ in range(3):
        reopen().close()
    assert index.read_bytes() == before
