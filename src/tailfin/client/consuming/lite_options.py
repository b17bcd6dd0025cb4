"""What a lite pull consumer can be told."""

from dataclasses import dataclass, field

from tailfin.client.consuming.offsets import OffsetStore
from tailfin.client.consuming.settings import ReadKeywords, ReadSettings
from tailfin.client.consuming.starting import ConsumeFrom, check_consume_from
from tailfin.client.keywords import shared_out
from tailfin.client.options import ClientOptions
from tailfin.client.rebalance import Averagely, Strategy


class LitePullKeywords(ReadKeywords, total=False):
    """The keywords of `LitePullOptions`, `ReadSettings` and `ClientOptions`."""

    consume_from: ConsumeFrom
    auto_commit: bool
    broadcast: bool
    strategy: Strategy
    offsets: OffsetStore | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LitePullOptions:
    """What a lite pull consumer can be told, besides how it reads and what every client can be told.

    Args:
        consume_from: where a group begins that has no offset yet: "last", "first" or a datetime.
        auto_commit: commit what was polled, once the next poll shows that it is done.
        broadcast: this consumer gets all messages, whoever else is in the group.
        strategy: how the group's queues are shared; all members must use the same.
        offsets: where to keep offsets, if not where RocketMQ keeps them.
    """

    consume_from: ConsumeFrom = "last"
    auto_commit: bool = True
    broadcast: bool = False
    strategy: Strategy = field(default_factory=Averagely)
    offsets: OffsetStore | None = None

    def __post_init__(self) -> None:
        check_consume_from(self.consume_from)


def split_keywords(keywords: LitePullKeywords) -> tuple[ClientOptions, ReadSettings, LitePullOptions]:
    """Give each options class its own; what none knows is a TypeError that names it."""
    client, read, own = shared_out(keywords, ClientOptions, ReadSettings, LitePullOptions)
    return ClientOptions(**client), ReadSettings(**read), LitePullOptions(**own)
