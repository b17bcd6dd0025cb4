"""Settings of a group as the command line gives them."""

import argparse
from typing import cast

from tailfin.admin.groups import GroupSettings
from tailfin.cli import words

NAMES = ("consume_enable", "consume_message_orderly", "retry_max_times", "retry_queue_nums")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the settings; what is not given stays None."""
    yes_or_no = argparse.BooleanOptionalAction
    parser.add_argument("--consume", dest="consume_enable", action=yes_or_no, help="members may read")
    parser.add_argument(
        "--orderly", dest="consume_message_orderly", action=yes_or_no, help="members read in order"
    )
    parser.add_argument(
        "--attempts", dest="retry_max_times", type=int, metavar="N", help="before a message is a dead letter"
    )
    parser.add_argument(
        "--retry-queues",
        dest="retry_queue_nums",
        type=words.positive,
        metavar="N",
        help="of the retry topic",
    )


def given(args: argparse.Namespace) -> GroupSettings:
    """Return the settings that were given."""
    found = {name: getattr(args, name) for name in NAMES if getattr(args, name) is not None}
    return cast("GroupSettings", found)
