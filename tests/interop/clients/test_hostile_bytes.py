"""Wrong frames by the hundred thousand at servers that serve others meanwhile.

`TAILFIN_HOSTILE_FRAMES` says how many the broker gets; `make storm` sends it a million.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.interop.clients import java_client, servers
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.java_client import Saw
from tests.interop.clients.scenario_checks import assert_in_order, assert_nothing_lost, assert_same
from tests.interop.clients.servers import ROOT, Server
from tests.interop.clients.storm import Taken

FRAMES = int(os.environ.get("TAILFIN_HOSTILE_FRAMES", "200_000"))
STORM_LIMIT_S = 240 + FRAMES / 250
pytestmark = pytest.mark.timeout(STORM_LIMIT_S + 240)  # the clients' last round ends after the storm
SAMPLE_S = 0.5
MAY_GROW = 32 << 20
# Another name than the frames know: an operator may well take the permission to write from `broker-a`.
BROKER = "broker-of-others"
# One storm for each server, by its captured frames, and how many wrong ones it gets.
STORMS = {"to_broker.bin": FRAMES, "to_namesrv.bin": FRAMES // 20}
NORMAL = (
    *("send_sync", "send_async", "send_batch", "send_large", "push_concurrent", "push_orderly_suspended"),
    *("push_broadcast", "push_tags", "rebalance", "offsets_restart", "pull_long_poll", "lite_subscribe"),
    *("admin_query", "admin_offsets", "admin_topic"),
)


@dataclass
class Storm:
    """Servers after a storm, and what was seen during it."""

    servers: dict[str, Server]
    taken: dict[str, Taken] = field(default_factory=dict)
    memory: dict[str, list[int]] = field(default_factory=dict)
    rounds: list[dict[str, Saw]] = field(default_factory=list)
    """What official clients saw meanwhile, time after time."""


@pytest.fixture(scope="module")
def storm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storm]:
    home = tmp_path_factory.mktemp("storm")
    with (
        servers.nameserver("tailfin", home / "namesrv") as namesrv,
        servers.broker("tailfin", home / "broker", namesrv.address, BROKER) as broker,
    ):
        Cluster("storm", namesrv.address, {BROKER: broker.address}).wait_registered()
        storm = Storm({"to_broker.bin": broker, "to_namesrv.bin": namesrv})
        with ThreadPoolExecutor() as threads:
            senders = {name: threads.submit(_send, name, at.address) for name, at in storm.servers.items()}
            samplers = {
                name: threads.submit(_sample, senders[name], at) for name, at in storm.servers.items()
            }
            while not storm.rounds or not all(sender.done() for sender in senders.values()):
                cluster = Cluster(f"storm{len(storm.rounds)}", namesrv.address, {BROKER: broker.address})
                storm.rounds.append(java_client.run("5.5.0", cluster, home, *NORMAL))
        storm.taken = {name: sender.result() for name, sender in senders.items()}
        storm.memory = {name: sampler.result() for name, sampler in samplers.items()}
        yield storm


def _send(name: str, address: str) -> Taken:
    command = [sys.executable, "-m", "tests.interop.clients.storm", address, name, str(STORMS[name]), "7"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=STORM_LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return Taken(**json.loads(done.stdout))


def _sample(sender: Future[Taken], server: Server) -> list[int]:
    """Note a server's own memory, without the pages of its files, until its storm is over."""
    status, samples = Path(f"/proc/{server.process.pid}/status"), []
    while not sender.done() and server.process.poll() is None:
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("RssAnon:"))
        samples.append(int(line.split()[1]) << 10)
        time.sleep(SAMPLE_S)
    return samples


@pytest.mark.shows("RM-15")
@pytest.mark.parametrize("name", list(STORMS))
def test_the_server_reads_every_frame_and_lives(storm: Storm, name: str) -> None:
    taken = storm.taken[name]
    assert taken.frames >= STORMS[name]
    assert taken.answered == taken.connections
    assert (taken.closed_early, taken.silent) == (0, 0)
    assert storm.servers[name].process.poll() is None
    assert "Traceback" not in storm.servers[name].output()


@pytest.mark.parametrize("name", list(STORMS))
def test_memory_stays_flat(storm: Storm, name: str) -> None:
    samples = storm.memory[name]
    half = len(samples) // 2
    assert max(samples[half:]) - max(samples[: half or 1]) < MAY_GROW


def test_others_are_served_all_the_while(storm: Storm) -> None:
    for saws in storm.rounds:
        assert saws.keys() == set(NORMAL)
        for line in saws.values():
            assert "error" not in line, line["error"]
            assert not line.get("failures")
        for name in ("send_sync", "send_async", "send_batch", "send_large", "push_concurrent"):
            assert_same(saws[name]["received"], saws[name]["sent"])
        assert_in_order(saws["push_orderly_suspended"]["received"])
        line = saws["rebalance"]
        assert_nothing_lost(line["received"], line["sent"], times_max=len(line["stages"]))
        assert_same(saws["offsets_restart"]["after"], saws["offsets_restart"]["sentAfter"])
        for member in saws["push_broadcast"]["members"].values():
            assert_same(member, saws["push_broadcast"]["sent"])
