"""The command line: `python -m tailfin`, one module per verb, or per command that has no verbs.

Each module has `arguments(parser)`, which declares what it takes, and `run(args)`, which does it and
returns the exit code: 0 when all is well, 1 when something was found, 2 when it could not be done. Commands
that ask a cluster end with 1 when it refuses or does not answer.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from types import ModuleType

from tailfin.cli import broker, cluster, dlq, group, message, namesrv, offset, pipeline, start, topic
from tailfin.cli.bench import create, e2e, limit_server, pull, send
from tailfin.cli.store import dump, inspect, verify
from tailfin.config.setting import ConfigError
from tailfin.load import LoadFailed
from tailfin.store import StoreError
from tailfin.store.offline import NoStore
from tailfin.wire.error import RemotingError

COMMANDS: dict[str, ModuleType] = {"start": start, "namesrv": namesrv, "broker": broker}
NOUNS = {
    "topic": ("topics: list, show, create, update, delete", topic.VERBS),
    "group": ("consumer groups: list, show, create, update, delete", group.VERBS),
    "offset": ("how far groups are: lag, reset, skip, clone", offset.VERBS),
    "message": ("messages: send, read, show, query, resend", message.VERBS),
    "dlq": ("dead letters: list, show, resend", dlq.VERBS),
    "cluster": ("brokers and name servers: list, show, config, update, writes", cluster.VERBS),
    "pipeline": (
        "pipelines on Spark: run, check, preview; archive, replay, dlq, trace, audit, lag",
        pipeline.VERBS,
    ),
    "bench": (
        "put load on a broker and tell how it fares",
        {"send": send, "pull": pull, "e2e": e2e, "create": create, "limit-server": limit_server},
    ),
    "store": ("look into a store directory, read-only", {"inspect": inspect, "verify": verify, "dump": dump}),
}


def parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    top = argparse.ArgumentParser(prog="tailfin", description="RocketMQ in Python.")
    nouns = top.add_subparsers(dest="noun", required=True, metavar="COMMAND")
    for command, module in COMMANDS.items():
        _add(nouns, command, module)
    for noun, (help_text, verbs) in NOUNS.items():
        words = nouns.add_parser(noun, help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.")
        below = words.add_subparsers(dest="verb", required=True, metavar="VERB")
        for verb, module in verbs.items():
            _add(below, verb, module)
    return top


def _add(
    parsers: "argparse._SubParsersAction[argparse.ArgumentParser]", word: str, module: ModuleType
) -> None:
    text = module.__doc__ or ""
    found = parsers.add_parser(
        word,
        help=text.splitlines()[0],
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.arguments(found)
    found.set_defaults(run=module.run)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    args = parser().parse_args(argv)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`| head`): nothing is left to say, nor at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except (NoStore, ConfigError, StoreError, LoadFailed, RemotingError, OSError) as error:
        print(f"tailfin: {error}", file=sys.stderr)
        return 2
    return code
