"""A run of every mqadmin trial against one cluster, and what is known after it."""

from dataclasses import dataclass
from pathlib import Path
from re import search

from tests.interop.clients import mqadmin
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.mqadmin import Call, MqAdmin
from tests.interop.clients.mqadmin_commands import NOT_APPLICABLE, STAGES, UNTRIED, Trial, filled, unmet

WORKS, NOT_YET, NO_SENSE = "works", "not yet", "not applicable"
TOPICS = '[{"topicName":"Listed","readQueueNums":2,"writeQueueNums":2,"perm":6}]'
GROUPS = '[{"groupName":"ListedGroup","consumeEnable":true,"retryMaxTimes":3}]'


@dataclass(frozen=True)
class Outcome:
    """What one trial printed, and what it owed and did not print."""

    trial: Trial
    printed: str
    unmet: list[str]


@dataclass(frozen=True)
class Run:
    """All outcomes, and the names of all commands that the tool has."""

    outcomes: list[Outcome]
    names: list[str]

    def of(self, command: str) -> list[Outcome]:
        """Return the outcomes of a command."""
        return [outcome for outcome in self.outcomes if outcome.trial.command == command]

    def state(self, command: str) -> tuple[str, str]:
        """Say whether a command works, and why not."""
        if command in NOT_APPLICABLE:
            return NO_SENSE, NOT_APPLICABLE[command]
        if command in UNTRIED:
            return NOT_YET, UNTRIED[command]
        failed = [outcome for outcome in self.of(command) if outcome.unmet]
        if not failed:
            return WORKS, ""
        unserved = search(r"request type (\d+) not supported", failed[0].printed)
        return NOT_YET, f"request {unserved[1]} is not served" if unserved else "answers otherwise"


def run(cluster: Cluster, home: Path) -> Run:
    """Try every command on a cluster."""
    (home / "topics.json").write_text(TOPICS)
    (home / "groups.json").write_text(GROUPS)
    with mqadmin.running(home) as admin:
        world = _world(cluster, admin, home)
        outcomes = [outcome for stage in STAGES for outcome in _stage(admin, stage, world)]
        return Run(outcomes, _names(admin.run()))


def _world(cluster: Cluster, admin: MqAdmin, home: Path) -> dict[str, str]:
    live = admin.live(cluster.namesrv, "mq")
    name, address = next(iter(cluster.brokers.items()))
    message = live["results"][7]
    return {
        **{"n": cluster.namesrv, "c": "DefaultCluster", "b": address, "bn": name, "tmp": str(home)},
        **{"t": live["topic"], "g": live["group"], "p": live["producers"], "client": live["clientId"]},
        **{"id": message["offsetId"], "uid": message["id"]},
        **{"queue": str(message["queue"]), "offset": str(message["offset"])},
    }


def _stage(admin: MqAdmin, trials: tuple[Trial, ...], world: dict[str, str]) -> list[Outcome]:
    calls = [Call(filled(trial.line, world).split(" "), trial.until) for trial in trials]
    outcomes = []
    for trial, printed in zip(trials, admin.run_together(calls), strict=True):
        for name, pattern in trial.keeps.items():
            found = search(pattern, printed)
            world[name] = found[1] if found else ""
        outcomes.append(Outcome(trial, printed, unmet(trial, printed, world)))
    return outcomes


def _names(listing: str) -> list[str]:
    return [line.split()[0] for line in listing.splitlines() if line.startswith("   ")]
