"""What `tailfin start` prints: where it runs, and lines to paste that use it."""

import shlex
import shutil
import sys
from pathlib import Path

# Python stands at the margin: pasted with spaces in front, it would not be Python.
TEXT = """\
Tailfin is running: name server {namesrv}, broker {broker}
Data: {data}

A producer, for {python} (tailfin.aio has the same names to await):
import tailfin
with tailfin.Producer("shop", nameserver="{namesrv}") as producer:
    producer.send(tailfin.Message("TopicTest", b"hello"))

A consumer, which prints what comes until Enter is pressed:
import tailfin
with tailfin.PushConsumer(
    "billing", nameserver="{namesrv}", subscribe={{"TopicTest": "*"}}, handler=print, consume_from="first"
):
    input()

From Java, Go and all others, RocketMQ's own clients:
producer.setNamesrvAddr("{namesrv}");

From the shell, and with RocketMQ's mqadmin:
{tailfin} message send TopicTest "hello" -n {namesrv}
{tailfin} message read TopicTest -n {namesrv}
{tailfin} cluster list -n {namesrv}
sh bin/mqadmin clusterList -n {namesrv}

Ctrl-C stops it."""


def next_steps(namesrv: str, broker: str, data: str) -> str:
    """Return the text for a name server and a broker at these addresses."""
    python = _as_typed(Path(sys.executable))
    program = Path(sys.executable).with_name("tailfin")
    tailfin = _as_typed(program) if program.exists() else f"{python} -m tailfin"
    return TEXT.format(namesrv=namesrv, broker=broker, data=data, python=python, tailfin=tailfin)


def _as_typed(program: Path) -> str:
    """Return the shortest word that runs a program from the folder we are in."""
    if shutil.which(program.name) == str(program):
        return program.name
    if Path.cwd() in program.parents[1:]:  # in this very folder it would have no slash, and not be looked for
        program = program.relative_to(Path.cwd())
    return shlex.quote(str(program))
