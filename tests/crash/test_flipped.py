import json
import os
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.crash import flipper, stores

FLIPS = int(os.environ.get("TAILFIN_FLIPS", "10000"))
SEED = int(os.environ.get("TAILFIN_FLIP_SEED", "1"))
WORKERS = min(4, os.cpu_count() or 1)
REPOSITORY = Path(__file__).parents[2]


@pytest.mark.slow
def test_no_flipped_byte_crashes_opening_or_passes_for_good_or_costs_what_was_before_it() -> None:
    with stores.memory_folder() as folder:
        _, _, history = stores.make_pair(folder, SEED)
        flipper.save(folder, history)
        borders = [FLIPS * index // WORKERS for index in range(WORKERS + 1)]
        workers = [_start(folder, first, last) for first, last in pairwise(borders)]
        codes = [worker.wait() for worker in workers]
        told = [(folder / f"told-{first}").read_text().splitlines() for first in borders[:-1]]
    for code, lines in zip(codes, told, strict=True):
        assert code == 0, f"a worker ended with {code}:\n" + "\n".join(lines[-40:])
    results = [json.loads(lines[-1]) for lines in told]
    tally = sum((Counter(result["tally"]) for result in results), Counter[str]())
    print(f"\n{FLIPS} flips, seed {SEED}")
    for outcome, count in sorted(tally.items()):
        print(f"{count:7} {outcome}")
    failures = [failure for result in results for failure in result["failures"]]
    print(f"{len(failures)} failures")
    assert not failures, "\n".join(failures[:40])
    assert sum(tally.values()) == FLIPS


def _start(folder: Path, first: int, last: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", flipper.__name__, str(folder), str(SEED), str(first), str(last)]
    with (folder / f"told-{first}").open("w") as told:
        return subprocess.Popen(command, cwd=REPOSITORY, stdout=told, stderr=subprocess.STDOUT)
