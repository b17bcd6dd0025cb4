"""What a client tells brokers about itself. No I/O."""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

from tailfin.wire.bodies.clients import ConsumerData, HeartbeatData, ProducerData


def heartbeat(client_id: str, groups: Iterable[ProducerData | ConsumerData]) -> HeartbeatData:
    """Return the heartbeat of a client with these groups."""
    groups = list(groups)
    return HeartbeatData(
        client_id=client_id,
        producer_data_set=[each for each in groups if isinstance(each, ProducerData)],
        consumer_data_set=[each for each in groups if isinstance(each, ConsumerData)],
    )


def fingerprint(beat: HeartbeatData) -> int:
    """Return a number that changes with the subscriptions and with nothing else; never 0."""
    plain = [
        replace(
            each, subscription_data_set=[replace(sub, sub_version=0) for sub in each.subscription_data_set]
        )
        for each in beat.consumer_data_set
    ]
    text = replace(beat, client_id="", consumer_data_set=plain).to_json()
    return (zlib.crc32(text) & 0x7FFFFFFF) or 1


class ShortBeats:
    """Heartbeats of the second version: subscriptions travel when they changed, or a broker asks for them."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def next(self, address: str, beat: HeartbeatData) -> HeartbeatData:
        """Return the heartbeat for a broker, short if it knows the subscriptions."""
        mark = fingerprint(beat)
        if self._known.get(address) != mark:
            return replace(beat, heartbeat_fingerprint=mark)
        bare = [replace(each, subscription_data_set=[]) for each in beat.consumer_data_set]
        return replace(beat, consumer_data_set=bare, heartbeat_fingerprint=mark, without_sub=True)

    def answered(self, address: str, beat: HeartbeatData, fields: Mapping[str, str]) -> None:
        """Note what a broker said to a heartbeat."""
        supported = fields.get("IS_SUPPORT_HEART_BEAT_V2") == "true"
        wants_all = fields.get("IS_SUB_CHANGE") == "true" and beat.without_sub
        if supported and not wants_all:
            self._known[address] = beat.heartbeat_fingerprint
        else:
            self.forget(address)

    def forget(self, address: str) -> None:
        """Tell a broker everything again, for instance after its connection was lost."""
        self._known.pop(address, None)
