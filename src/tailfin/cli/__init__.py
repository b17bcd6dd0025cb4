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
from importlib import import_module
from types import ModuleType

from tailfin.config.setting import ConfigError
from tailfin.load import LoadFailed
from tailfin.store import StoreError
from tailfin.store.offline import NoStore
from tailfin.wire.error import RemotingError

COMMANDS = {
    "start": "start a whole RocketMQ here: name server and broker in one process, until Ctrl-C",
    "namesrv": "run a name server until Ctrl-C",
    "broker": "run a broker until Ctrl-C",
}
NOUNS = {
    "topic": "topics: list, show, create, update, delete",
    "group": "consumer groups: list, show, create, update, delete",
    "offset": "how far groups are: lag, reset, skip, clone",
    "message": "messages: send, read, show, query, resend",
    "dlq": "dead letters: list, show, resend",
    "cluster": "brokers and name servers: list, show, config, update, writes",
    "pipeline": "pipelines on Spark: run, check, preview; archive, replay, dlq, trace, audit, lag",
    "bench": "put load on a broker and tell how it fares",
    "store": "look into a store directory, read-only",
}


def module_of(word: str) -> ModuleType:
    """Return a command's module, or the package of a noun, whose VERBS has a module for each of its verbs."""
    return import_module(f"tailfin.cli.{word}")


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Build the parser for a command line. Only what it names is imported: to start should take no time."""
    top = argparse.ArgumentParser(prog="tailfin", description="RocketMQ in Python.")
    nouns = top.add_subparsers(dest="noun", required=True, metavar="COMMAND")
    for command, help_text in COMMANDS.items():
        if command in words:
            _add(nouns, command, module_of(command), help_text)
        else:
            nouns.add_parser(command, help=help_text)
    for noun, help_text in NOUNS.items():
        found = nouns.add_parser(noun, help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.")
        if noun in words:
            below = found.add_subparsers(dest="verb", required=True, metavar="VERB")
            for verb, module in module_of(noun).VERBS.items():
                _add(below, verb, module, (module.__doc__ or "").splitlines()[0])
    return top


def _add(
    parsers: "argparse._SubParsersAction[argparse.ArgumentParser]",
    word: str,
    module: ModuleType,
    help_text: str,
) -> None:
    found = parsers.add_parser(
        word,
        help=help_text,
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.arguments(found)
    found.set_defaults(run=module.run)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    words = sys.argv[1:] if argv is None else argv
    args = parser(words).parse_args(words)
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
