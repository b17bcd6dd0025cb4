"""Measures the store through its Python face, with the messages and the counting of the other programs."""

import argparse
import json
import random
import time
from collections.abc import Callable

from tailfin.store import Store

TOPIC = "BenchTopic"
QUEUES = 8
PER_CALL = 32
READY_BATCHES = 256


def unique_key(number: int) -> str:
    return f"7F0000010001{number:020X}"


def append_each(store: Store, body: bytes, first: int, count: int) -> None:
    for number in range(first, first + count):
        key = {"UNIQ_KEY": unique_key(number)}
        store.append(TOPIC, body, number % QUEUES, tags="TagA", properties=key)


def append_batches(store: Store, body: bytes, first: int, count: int) -> None:
    numbers = range(READY_BATCHES * PER_CALL)
    ready = [(body, {"UNIQ_KEY": unique_key(number), "TAGS": "TagA"}) for number in numbers]
    batches = [ready[at : at + PER_CALL] for at in range(0, len(ready), PER_CALL)]
    for number in range(first // PER_CALL, (first + count) // PER_CALL):
        store.append_batch(TOPIC, batches[number % READY_BATCHES], number % QUEUES)


def await_dispatch(store: Store) -> None:
    while store.dispatched_offset < store.confirm_offset:
        time.sleep(0.001)


Work = Callable[[Store, bytes, int, int], None]


def measure_appends(name: str, work: Work, args: argparse.Namespace) -> None:
    body = b"x" * args.body
    with Store(args.dir) as store:
        work(store, body, 0, args.warmup_count)
        await_dispatch(store)
        wall, cpu = time.perf_counter(), time.process_time()
        work(store, body, args.warmup_count, args.count)
        seconds = time.perf_counter() - wall
        await_dispatch(store)
        consumable_seconds = time.perf_counter() - wall
        show(name, args.count, seconds, time.process_time() - cpu, consumable_seconds)


def measure_reads(args: argparse.Namespace) -> None:
    with Store(args.dir) as store:
        read_all(store)
        for _ in range(args.runs):
            wall, cpu = time.perf_counter(), time.process_time()
            count = read_all(store)
            show("python-read", count, time.perf_counter() - wall, time.process_time() - cpu, None)


def read_all(store: Store) -> int:
    """Read every message of every queue and touch its body."""
    count = 0
    for queue_id in range(QUEUES):
        offset = 0
        end = store.max_offset(TOPIC, queue_id)
        while offset < end:
            messages = store.read(TOPIC, queue_id, offset, PER_CALL)
            for message in messages:
                count += message.body is not None
            offset = messages.next_offset
    return count


def fill(args: argparse.Namespace) -> None:
    """Write batches of messages whose bodies nothing can compress."""
    with Store(args.dir) as store:
        for first in range(0, args.count, PER_CALL):
            noise = random.randbytes(PER_CALL * args.body)
            batch = [
                (
                    noise[at * args.body : (at + 1) * args.body],
                    {"UNIQ_KEY": unique_key(first + at), "TAGS": "TagA"},
                )
                for at in range(PER_CALL)
            ]
            store.append_batch(TOPIC, batch, first // PER_CALL % QUEUES)
        await_dispatch(store)


def show(name: str, count: int, seconds: float, cpu_seconds: float, consumable_seconds: float | None) -> None:
    figures: dict[str, object] = {"bench": name, "messages": count, "seconds": seconds}
    figures["perSecond"] = count / seconds
    if consumable_seconds:
        figures["consumablePerSecond"] = count / consumable_seconds
    figures["cpuSecondsPerMillion"] = cpu_seconds / count * 1e6
    print(json.dumps(figures), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=["append", "batch", "read", "fill"])
    parser.add_argument("dir")
    parser.add_argument("--body", type=int, default=128)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--warmup-count", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=2)
    args = parser.parse_args()
    if args.case == "read":
        measure_reads(args)
    elif args.case == "fill":
        fill(args)
    elif args.case == "batch":
        args.count -= args.count % PER_CALL
        args.warmup_count -= args.warmup_count % PER_CALL
        measure_appends("python-batch", append_batches, args)
    else:
        measure_appends("python-append", append_each, args)


if __name__ == "__main__":
    main()
