import random
import shutil
from pathlib import Path

import pytest

from tests.crash import stores
from tests.crash.stores import History, Written


def _log_file(root: Path, offset: int) -> tuple[Path, int]:
    size = stores.LOG_FILE_BYTES
    start, position = divmod(offset, size)
    return root / "commitlog" / f"{start * size:020}", position


def _zero_from(root: Path, offset: int) -> None:
    path, position = _log_file(root, offset)
    data = path.read_bytes()
    path.write_bytes(data[:position] + bytes(len(data) - position))


def _store(folder: Path) -> tuple[Path, Path, History]:
    """Two stores whose last record has everything: keys, a tag, a body."""
    clean, unclean = folder / "clean", folder / "unclean"
    store = stores.open_engine(clean)
    history = stores.fill(store, 30, random.Random(7))
    appended = store.append("Orders", b"the last one", 0, keys="last", tags="TagA")
    history.messages.append(
        Written(
            "Orders",
            0,
            appended.queue_offset,
            appended.physical_offset,
            appended.size,
            b"the last one",
            ("last",),
        )
    )
    stores.wait_dispatched(store, history)
    store.flush_queues()
    stores.copy(clean, unclean)
    store.close()
    return clean, unclean, history


@pytest.mark.shows("RC-02", "RC-03", "RC-04", "RC-05", "MF-23")
@pytest.mark.parametrize("kind", ["clean", "unclean"])
def test_a_last_record_cut_at_any_byte_is_dropped_and_nothing_else(kind: str) -> None:
    with stores.memory_folder() as folder:
        clean, unclean, history = _store(folder)
        base = {"clean": clean, "unclean": unclean}[kind]
        *before, last = history.messages
        outcomes = {"whole": 0, "dropped": 0, "said": 0}
        for cut in range(last.size + 1):
            root = stores.copy(base, folder / "work")
            assert (root / "abort").exists() == (kind == "unclean")
            _zero_from(root, last.physical_offset + cut)
            store = stores.open_engine(root)
            notes = [text for level, text in store.notes() if level != "info"]
            # Zeros may have stood there already: then nothing was cut.
            is_whole = store.max_physical_offset == history.end
            kept = history.messages if is_whole else before
            if not is_whole:
                assert cut < last.size
                assert store.max_physical_offset == last.physical_offset, cut
                assert store.query("Orders", "last") == []
            for place in history.places:
                differences = list(
                    stores.differences(store, [each for each in kept if each.place == place], place)
                )
                assert not differences, (cut, differences)
            if not is_whole and cut >= 8:  # with less, nothing tells that a record ever began
                assert any(str(last.physical_offset) in text or "are dropped" in text for text in notes), (
                    cut,
                    notes,
                )
                outcomes["said"] += 1
            outcomes["whole" if is_whole else "dropped"] += 1
            appended = store.append("Orders", b"next", 0)
            assert appended.physical_offset == (history.end if is_whole else last.physical_offset)
            assert appended.queue_offset == last.queue_offset + is_whole
            assert store.read("Orders", 0, appended.queue_offset)[0].body == b"next"
            store.close()
            assert not stores.verify(root), cut
        print(f"\n{kind}: {outcomes}")
        assert outcomes["dropped"] >= last.size - 10


@pytest.mark.shows("RC-03")
def test_a_log_whose_tail_is_gone_over_several_files_goes_on_at_its_end() -> None:
    with stores.memory_folder() as folder:
        clean, unclean, history = stores.make_pair(folder, 3)
        for base in (clean, unclean):
            for cut in (history.messages[40], history.messages[-5]):
                root = stores.copy(base, folder / "work")
                for path in sorted((root / "commitlog").iterdir()):
                    if int(path.name) >= cut.physical_offset:
                        path.unlink()
                _zero_from(root, cut.physical_offset)
                store = stores.open_engine(root)
                kept = [each for each in history.messages if each.physical_offset < cut.physical_offset]
                for place in history.places:
                    mine = [each for each in kept if each.place == place]
                    assert not list(stores.differences(store, mine, place))
                assert store.append("Orders", b"next").physical_offset == cut.physical_offset
                store.close()
                assert not stores.verify(root)


def test_intact_messages_behind_damage_are_set_aside_before_the_log_is_cut() -> None:
    with stores.memory_folder() as folder:
        _, unclean, history = stores.make_pair(folder, 4)
        hurt = history.messages[-6]
        path, position = _log_file(unclean, hurt.physical_offset)
        before = path.read_bytes()
        path.write_bytes(before[: position + 4] + b"\0" + before[position + 5 :])  # the magic
        damaged = path.read_bytes()
        store = stores.open_engine(unclean)
        assert store.max_physical_offset == hurt.physical_offset
        texts = [text for level, text in store.notes() if level == "error"]
        store.close()
        aside = unclean / f"cut-at-{hurt.physical_offset:020}"
        assert any("intact messages stand after the damage" in text and str(aside) in text for text in texts)
        assert (aside / path.name).read_bytes() == damaged


def test_a_recovery_that_is_killed_itself_is_done_again(tmp_path: Path) -> None:
    """The abort file stands from before the first repair on, also after an orderly stop."""
    root = tmp_path / "store"
    store = stores.open_engine(root)
    history = stores.fill(store, 30, random.Random(1))
    store.close()
    assert not (root / "abort").exists()
    # Where the queues should be there is something else, so opening fails after it began to repair.
    shutil.rmtree(root / "consumequeue")
    (root / "consumequeue").touch()
    with pytest.raises(OSError, match="consumequeue"):
        stores.open_engine(root)
    assert (root / "abort").exists()
    (root / "consumequeue").unlink()
    store = stores.open_engine(root)
    for place in history.places:
        assert not list(stores.differences(store, history.of_queue(place), place))
    store.close()


def test_the_last_message_of_a_quiet_queue_is_not_lost_with_its_unit(tmp_path: Path) -> None:
    """Its record is in a file that an orderly start does not look at."""
    root = tmp_path / "store"
    store = stores.open_engine(root)
    for number in range(3):
        store.append("Quiet", b"%d" % number)
    stores.fill(store, 150, random.Random(2))
    store.close()
    queue = root / "consumequeue" / "Quiet" / "0" / f"{0:020}"
    whole = queue.read_bytes()
    for position in range(40, 60):
        for mask in (0x80, 0x01):
            damaged = bytearray(whole)
            damaged[position] ^= mask
            queue.write_bytes(damaged)
            store = stores.open_engine(root)
            assert [message.body for message in store.read("Quiet", 0)] == [b"0", b"1", b"2"], position
            assert store.max_offset("Quiet", 0) == 3
            store.close()
