"""What a push consumer can be told."""

from dataclasses import dataclass, field

from tailfin.client.consuming.judging import retries_allowed
from tailfin.client.consuming.offsets import OffsetStore
from tailfin.client.consuming.settings import ReadKeywords, ReadSettings
from tailfin.client.consuming.starting import ConsumeFrom, check_consume_from
from tailfin.client.keywords import shared_out
from tailfin.client.limits import check_seconds, check_whole
from tailfin.client.options import ClientOptions
from tailfin.client.rebalance import Averagely, Strategy


class PushKeywords(ReadKeywords, total=False):
    """The keywords of `PushOptions`, `ReadSettings` and `ClientOptions`."""

    orderly: bool
    broadcast: bool
    consume_from: ConsumeFrom
    batch_size: int
    concurrency: int
    max_reconsume_times: int
    consume_timeout: float
    suspend: float
    strategy: Strategy
    offsets: OffsetStore | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PushOptions:
    """What a push consumer can be told, besides how it reads and what every client can be told.

    Args:
        orderly: consume each queue's messages one after the other; a message that fails keeps those behind
            it waiting.
        broadcast: this consumer gets all messages, whoever else is in the group. Failed ones are skipped.
        consume_from: where a group begins that has no offset yet: at the end ("last"), at the beginning
            ("first"), or with messages stored at a time (a datetime) or later.
        batch_size: how many messages the handler gets at once; when above 1, it gets a list.
        concurrency: how many calls of the handler may run at once: threads, or tasks for a coroutine
            function.
        max_reconsume_times: how often a message comes again before it becomes a dead letter; -1: 16 times,
            and for ever when `orderly`.
        consume_timeout: seconds after which a message comes again although its handler still runs.
        suspend: seconds that an ordered queue waits before another try.
        strategy: how the group's queues are shared; all members must use the same.
        offsets: where to keep offsets, if not where RocketMQ keeps them.
    """

    orderly: bool = False
    broadcast: bool = False
    consume_from: ConsumeFrom = "last"
    batch_size: int = 1
    concurrency: int = 20
    max_reconsume_times: int = -1
    consume_timeout: float = 900.0
    suspend: float = 1.0
    strategy: Strategy = field(default_factory=Averagely)
    offsets: OffsetStore | None = None

    def __post_init__(self) -> None:
        check_consume_from(self.consume_from)
        check_whole("batch_size", self.batch_size, 1, 1024)
        check_whole("concurrency", self.concurrency, 1, 1000)
        check_whole("max_reconsume_times", self.max_reconsume_times, -1)
        check_seconds("consume_timeout", self.consume_timeout)
        check_seconds("suspend", self.suspend, 0.01, 30)

    @property
    def retries_max(self) -> int:
        """How often a message comes again; -1: for ever."""
        return retries_allowed(self.max_reconsume_times, orderly=self.orderly)


def split_keywords(keywords: PushKeywords) -> tuple[ClientOptions, ReadSettings, PushOptions]:
    """Give each options class its own; what none knows is a TypeError that names it."""
    client, read, own = shared_out(keywords, ClientOptions, ReadSettings, PushOptions)
    return ClientOptions(**client), ReadSettings(**read), PushOptions(**own)
