"""Groups so far behind that reading them from disk would hurt the others: told to stop, if so configured."""

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

log = logging.getLogger("tailfin.broker")

LOOK_EVERY_S = 180.0


def stop_the_slow(broker: "Broker") -> list[str]:
    """Take the right to consume from groups that are too many bytes behind; return their names."""
    if not broker.config.disableConsumeIfConsumerReadSlowly:
        return []
    slow: list[str] = []
    for group in broker.groups.all():
        name = group.group_name or ""
        behind = bytes_behind(broker, name)
        if group.consume_enable and behind > broker.config.consumerFallbehindThreshold:
            log.warning(
                "group %s is %d bytes behind and may not consume any more "
                "(disableConsumeIfConsumerReadSlowly); updateSubGroup -s true lets it again",
                name,
                behind,
            )
            broker.groups.put([replace(group, consume_enable=False)])
            slow.append(name)
    return slow


def bytes_behind(broker: "Broker", group: str) -> int:
    """Return how many bytes of the log lie between a group's oldest unread message and its end."""
    store, end = broker.store, broker.store.max_physical_offset
    behind = 0
    for topic in broker.offsets.topics_of(group):
        for queue_id, offset in broker.offsets.of(group, topic).items():
            units = store.queue_units(topic, queue_id, max(offset, store.min_offset(topic, queue_id)), 1)
            if units:
                behind = max(behind, end - units[0][0])
    return behind
