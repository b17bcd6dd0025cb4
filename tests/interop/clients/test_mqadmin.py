"""The official mqadmin: every sub-command, held against what it must print."""

import json
from pathlib import Path

import pytest

from tests.interop.clients import compatibility
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.mqadmin_commands import NOT_APPLICABLE, OWED, STAGES, UNTRIED
from tests.interop.clients.mqadmin_run import NOT_YET, WORKS, Run

COMMANDS = sorted({trial.command for stage in STAGES for trial in stage})


def _why(run: Run, command: str) -> str:
    failed = [outcome for outcome in run.of(command) if outcome.unmet]
    return "\n".join(f"{o.trial.line}\nwants {o.unmet}, printed\n{o.printed[:4000]}" for o in failed)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_prints_what_it_owes(admin_run: Run, cluster: Cluster, command: str) -> None:
    state, _ = admin_run.state(command)
    if cluster.make == "official" or command in OWED:
        assert state == WORKS, _why(admin_run, command)
    else:
        assert state == compatibility.documented()[command], (
            f"run `make compatibility`\n{_why(admin_run, command)}"
        )


def test_every_command_of_the_tool_has_a_trial_or_a_reason(admin_run: Run) -> None:
    assert set(admin_run.names) == {*COMMANDS, *NOT_APPLICABLE, *UNTRIED}


def test_the_page_says_of_every_command_what_it_does(admin_run: Run) -> None:
    documented = compatibility.documented()
    assert documented.keys() == set(admin_run.names)
    assert {command for command, state in documented.items() if state == NOT_YET}.isdisjoint(OWED)


def test_exported_metadata_has_the_topics_and_groups_that_were_made(admin_run: Run) -> None:
    exported = [outcome.printed for outcome in admin_run.of("exportMetadata") if not outcome.unmet]
    _, topics, groups = (json.loads(Path(printed.split()[1]).read_text()) for printed in exported)
    assert topics["topicConfigTable"]["Made"]["readQueueNums"] == 4
    assert groups["subscriptionGroupTable"]["MadeGroup"]["retryMaxTimes"] == 5
