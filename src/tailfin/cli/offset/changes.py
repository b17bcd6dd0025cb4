"""Changes of offsets as people and scripts read them."""

import argparse
from collections.abc import Sequence

from tailfin.admin import OffsetChange
from tailfin.cli import output


def show(args: argparse.Namespace, changes: Sequence[OffsetChange], *, done: bool) -> None:
    """Print what was changed, or what would be."""
    if args.json:
        output.show_json({"done": done, "changes": changes})
        return
    output.show_table(
        ("topic", "broker", "queue", "before", "after", "first", "end"),
        [
            (
                each.queue.topic,
                each.queue.broker,
                each.queue.queue_id,
                each.before,
                each.after,
                each.min_offset,
                each.max_offset,
            )
            for each in changes
        ],
    )
    if not done:
        print("\nnothing was changed: this is what would be")
