"""Waiting for what is acknowledged and not yet dispatched: a broker answers a send a moment before."""

from collections.abc import Iterable

import tailfin
from tailfin.testing import until

PATIENCE_S = 20.0


def readable(admin: tailfin.AdminClient, sent: Iterable[tailfin.SendResult]) -> list[tailfin.SendResult]:
    """Wait until consumers can have messages, and return what was said of them."""
    results = list(sent)
    topics = {result.queue.topic for result in results}

    def dispatched() -> bool:
        ends = {each.queue: each.max_offset for name in topics for each in admin.topics.status(name).queues}
        return all(result.queue_offset < ends[result.queue] for result in results)

    until(dispatched, PATIENCE_S)
    return results
