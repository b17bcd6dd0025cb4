"""Show what a store directory holds: files, topics, queues, index, checkpoint.

Nothing is opened for writing and no lock is taken, so it may be used beside a running broker.

Examples:
  tailfin store inspect data
  tailfin store inspect ~/store --json | jq '.topics'
  tailfin store inspect /data/store --config conf/broker.conf
"""

import argparse
import json
from pathlib import Path
from typing import Any

from tailfin.cli.store import common
from tailfin.config.store import StoreConfig
from tailfin.store import Message, OfflineLog, offline
from tailfin.store.offline import IndexFile, Queue, StoreFiles

Facts = dict[str, Any]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    common.arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Survey the directory and print what was found."""
    facts = survey(common.files(args), common.settings(args))
    print(json.dumps(facts, indent=2, ensure_ascii=False) if args.json else "\n".join(lines(facts)))
    return 0


def survey(files: StoreFiles, config: StoreConfig) -> Facts:
    """Collect the facts of a store."""
    log = OfflineLog(str(files.log))
    queues = list(offline.queues(files.queues))
    first = log.message_at(log.min_offset)
    last = last_message(log, queues)
    topics: dict[str, list[Facts]] = {}
    for queue in queues:
        low = queue.first_at_or_after(log.min_offset)
        about = {"queue": queue.queue_id, "min": low, "max": queue.end_offset, "files": len(queue.files)}
        topics.setdefault(queue.topic, []).append(about)
    point = offline.checkpoint(files.checkpoint)
    return {
        "root": str(files.root),
        "abort": files.abort.exists(),
        "lock_held": offline.lock_held(files.lock),
        "log": {
            "min_offset": log.min_offset,
            "max_offset": last.physical_offset + last.size if last else log.min_offset,
            "first_stored": first.store_timestamp if first else None,
            "last_stored": last.store_timestamp if last else None,
            "files": [
                {"path": path, "start": start, "size": size, "first_stored": _stored(log, start)}
                for start, size, path in log.files()
            ],
        },
        "topics": topics,
        "index": [_index(path, config) for path in offline.index_paths(files.index)],
        "checkpoint": point._asdict() if point else None,
    }


def last_message(log: OfflineLog, queues: list[Queue]) -> Message | None:
    """Find the last record: from the last one in a queue on, or else from the last file that has any."""
    start = log.min_offset
    for file_start, _, _ in log.files():
        if log.message_at(file_start) is not None:
            start = file_start
    for queue in queues:
        unit = queue.unit(queue.end_offset - 1)
        if unit and unit.physical_offset > start and log.message_at(unit.physical_offset):
            start = unit.physical_offset
    last = None
    while True:
        messages, start, _ = log.scan(start)
        if not messages:
            return last
        last = messages[-1]


def _stored(log: OfflineLog, offset: int) -> int | None:
    message = log.message_at(offset)
    return message.store_timestamp if message else None


def _index(path: Path, config: StoreConfig) -> Facts:
    try:
        index = IndexFile(path, config)
    except ValueError as error:
        return {"path": str(path), "size": path.stat().st_size, "damage": str(error)}
    header = index.header
    return {
        "path": str(index.path),
        "size": index.size,
        "slots": index.slots,
        "slots_used": header.slots_used,
        "entries": index.entry_count,
        "begin_stored": header.begin_timestamp,
        "end_stored": header.end_timestamp,
        "begin_offset": header.begin_offset,
        "end_offset": header.end_offset,
    }


def _index_line(each: Facts) -> str:
    if "damage" in each:
        return f"  {each['path']} DAMAGE: {each['damage']}"
    stored = f"{common.iso(each['begin_stored'])} .. {common.iso(each['end_stored'])}"
    return f"  {each['path']} {each['entries']:,} keys, {stored}"


def lines(facts: Facts) -> list[str]:
    """Write the facts for people."""
    log, iso = facts["log"], common.iso
    held = {True: "held: a store is running", False: "free", None: "unknown"}[facts["lock_held"]]
    out = [
        f"store       {facts['root']}",
        f"abort file  {'present: not closed, or running' if facts['abort'] else 'absent: closed'}",
        f"lock        {held}",
        f"log         {log['min_offset']} .. {log['max_offset']}",
        f"stored      {iso(log['first_stored'])} .. {iso(log['last_stored'])}",
        "",
        f"commit log: {len(log['files'])} files",
    ]
    out += [
        f"  {each['path']}  {each['size']:,} bytes, from {iso(each['first_stored'])}" for each in log["files"]
    ]
    count = sum(map(len, facts["topics"].values()))
    out += ["", f"topics: {len(facts['topics'])}, queues: {count}"]
    for topic, queues in facts["topics"].items():
        out += [f"  {topic}/{each['queue']}  {each['min']} .. {each['max']}" for each in queues]
    out += ["", f"index: {len(facts['index'])} files"]
    out += map(_index_line, facts["index"])
    out += ["", "checkpoint" if facts["checkpoint"] else "checkpoint: none"]
    for name, value in (facts["checkpoint"] or {}).items():
        out.append(f"  {name}  {iso(value) if name.endswith('timestamp') else value}")
    return out
