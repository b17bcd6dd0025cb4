"""How consumers read: sizes, limits and intervals."""

from dataclasses import dataclass
from os import PathLike

from tailfin.client.limits import check_seconds, check_whole
from tailfin.client.options import ClientKeywords
from tailfin.config.setting import ConfigError


class ReadKeywords(ClientKeywords, total=False):
    """The keywords of `ReadSettings`, and those of every client."""

    pull_batch: int
    pull_bytes: int
    pull_hold: float
    pull_timeout: float
    queue_messages: int
    queue_bytes: int
    queue_span: int | None
    trouble_pause: float
    retry_pause: float
    commit_interval: float
    rebalance_interval: float
    lock_interval: float
    offsets_folder: str | PathLike[str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """How a consumer reads. The defaults are RocketMQ's, but for `pull_batch`, which its brokers cut to 32.

    Args:
        pull_batch: messages asked for at once.
        pull_bytes: bytes asked for at once.
        pull_hold: seconds that a broker may hold a request when there is nothing new.
        pull_timeout: seconds to wait for the answer to such a request.
        queue_messages: how many messages of one queue are held here at most.
        queue_bytes: how many bytes of one queue are held here at most.
        queue_span: how far the messages held of one queue may be apart; None: any distance.
        trouble_pause: seconds to wait after a pull that failed.
        retry_pause: seconds until the handler gets a failed message again that no broker would take back.
        commit_interval: seconds between two commits of offsets.
        rebalance_interval: seconds between two looks at who is in the group; changes are heard of at once.
        lock_interval: seconds between two renewals of an ordered consumer's locks.
        offsets_folder: where broadcasting consumers keep their offsets; by default `~/.rocketmq_offsets`.
    """

    pull_batch: int = 256
    pull_bytes: int = 256 << 10
    pull_hold: float = 15.0
    pull_timeout: float = 30.0
    queue_messages: int = 1000
    queue_bytes: int = 100 << 20
    queue_span: int | None = 2000
    trouble_pause: float = 3.0
    retry_pause: float = 5.0
    commit_interval: float = 5.0
    rebalance_interval: float = 20.0
    lock_interval: float = 20.0
    offsets_folder: str | PathLike[str] | None = None

    def __post_init__(self) -> None:
        check_whole("pull_batch", self.pull_batch, 1, 1024)
        check_whole("queue_messages", self.queue_messages, 1, 65535)
        check_whole("queue_bytes", self.queue_bytes, 1, 1 << 40)
        check_whole("pull_bytes", self.pull_bytes, 1, 1 << 30)
        if self.queue_span is not None:
            check_whole("queue_span", self.queue_span, 1, 65535)
        for name in _SECONDS:
            check_seconds(name, getattr(self, name))
        if self.pull_timeout <= self.pull_hold:
            raise ConfigError(
                f"pull_timeout={self.pull_timeout:g} has to be longer than pull_hold={self.pull_hold:g}: "
                "a broker answers a held request at the end of that time"
            )


_SECONDS = (
    "pull_hold",
    "pull_timeout",
    "trouble_pause",
    "retry_pause",
    "commit_interval",
    "rebalance_interval",
    "lock_interval",
)
