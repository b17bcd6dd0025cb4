"""What the programs of all clients share: their arguments, the clock, and the line they print.

A program imports nothing else of this repository: each client runs in an interpreter of its own kind.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Wanted:
    """What a program is asked to do."""

    action: str
    address: str
    topic: str
    body: int
    warmup: int
    count: int
    seconds: float


def wanted() -> Wanted:
    """Read the arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["produce", "collect", "consume"])
    parser.add_argument("address")
    parser.add_argument("topic")
    parser.add_argument("--body", type=int, required=True, help="bytes of a message")
    parser.add_argument("--warmup", type=int, required=True, help="messages before the clock starts")
    parser.add_argument("--count", type=int, required=True, help="messages while the clock runs")
    parser.add_argument("--seconds", type=float, required=True, help="stop then, however many are done")
    return Wanted(**vars(parser.parse_args()))


def measure(name: str, body: int, work: Callable[[], int]) -> None:
    """Run the work, which returns how many messages it moved; print its rate and this process's CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    count = work()
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    figures = {
        "bench": name,
        "body": body,
        "messages": count,
        "seconds": seconds,
        "perSecond": count / seconds,
        "cpuSecondsPerMillion": cpu_seconds / count * 1e6,
    }
    print(json.dumps(figures), flush=True)
