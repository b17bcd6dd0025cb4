"""Writes docs/compatibility.md from a run of every mqadmin command: `make compatibility`."""

import re
import sys
import tempfile
from pathlib import Path

from tests.interop.clients import clusters, mqadmin_run
from tests.interop.clients.mqadmin_run import NO_SENSE, NOT_YET, WORKS, Run

PAGE = Path(__file__).parents[3] / "docs" / "compatibility.md"
HEAD = """# Compatibility

Written by `make compatibility` from a run against a Tailfin cluster; `make test` fails when a line is untrue.

## mqadmin

Every sub-command of the official `rocketmq-tools` 5.5.0, unchanged. *Works*: what it printed has all the
words and contents that `tests/interop/clients/mqadmin_commands.py` expects of it; the same tests find them
in what it prints against the official server. *Not yet*: it has not, or belongs to a feature that is not
there. *Not applicable*: it has no meaning here.

"""


def page(run: Run) -> str:
    """Write the page that a run makes."""
    states = {command: run.state(command) for command in run.names}
    counts = [
        f"{state} {sum(of == state for of, _ in states.values())}" for state in (WORKS, NOT_YET, NO_SENSE)
    ]
    rows = [f"| {command} | {state} | {why} |" for command, (state, why) in sorted(states.items())]
    table = ["| command | state | why |", "|---|---|---|", *rows]
    return HEAD + f"Of {len(states)} commands: {', '.join(counts)}.\n\n" + "\n".join(table) + "\n"


def documented() -> dict[str, str]:
    """Return the state of each command as the page says it."""
    states = "|".join((WORKS, NOT_YET, NO_SENSE))
    return dict(re.findall(rf"^\| (\w+) \| ({states}) \|", PAGE.read_text(), re.MULTILINE))


def main() -> None:
    """Run all commands against Tailfin and write the page."""
    with tempfile.TemporaryDirectory(prefix="tailfin-compatibility-") as folder:
        home = Path(folder)
        with clusters.uniform("tailfin", home) as cluster:
            run = mqadmin_run.run(cluster, home)
    PAGE.write_text(page(run))
    for outcome in run.outcomes:
        if outcome.unmet:
            sys.stderr.write(f"{outcome.trial.line}: wants {outcome.unmet}\n{outcome.printed}\n")


if __name__ == "__main__":
    main()
