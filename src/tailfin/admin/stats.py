"""Figures of brokers, topics and groups over the last minute, hour and day."""

from collections.abc import Iterable
from dataclasses import dataclass

from tailfin.admin.servers import Servers, each
from tailfin.wire.bodies.stats import BrokerStatsData, BrokerStatsItem
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.headers.admin import ViewBrokerStatsDataRequestHeader

_COUNTED_OR_NOT = (ResponseCode.SUCCESS, ResponseCode.SYSTEM_ERROR)


@dataclass(frozen=True, slots=True)
class Rate:
    """How much happened over some time.

    Attributes:
        total: how much.
        per_second: how much a second.
    """

    total: int = 0
    per_second: float = 0.0


@dataclass(frozen=True, slots=True)
class Rates:
    """A figure over the last minute, the last hour and the last day; brokers count anew when they start."""

    minute: Rate = Rate()
    hour: Rate = Rate()
    day: Rate = Rate()


@dataclass(frozen=True, slots=True)
class Traffic:
    """Messages and bytes, in one direction.

    Attributes:
        messages: how many messages.
        size: how many bytes.
    """

    messages: Rates
    size: Rates


class Stats:
    """Figures that brokers count: `AdminClient.stats`."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    async def topic(self, topic: str) -> Traffic:
        """Return what was sent to a topic, on all brokers together."""
        targets = await self._servers.nearest_of(topic)
        return await self._traffic(targets, "TOPIC_PUT", topic)

    async def group(self, group: str, topic: str) -> Traffic:
        """Return what a group read of a topic, on all brokers together."""
        targets = await self._servers.nearest_of(topic)
        return await self._traffic(targets, "GROUP_GET", f"{topic}@{group}")

    async def sent_to(self, broker: str) -> Rates:
        """Return how many messages were sent to a broker, by its name or address."""
        return await self._of_broker("BROKER_PUT_NUMS", broker)

    async def read_from(self, broker: str) -> Rates:
        """Return how many messages were read from a broker, by its name or address."""
        return await self._of_broker("BROKER_GET_NUMS", broker)

    async def figure(self, name: str, key: str, *, broker: str | None = None) -> Rates:
        """Return any figure that brokers count; all zero when nobody counted it yet.

        Args:
            name: RocketMQ's name of the statistic, as `GROUP_GET_SIZE`.
            key: what it is about, as `topic@group`.
            broker: of this broker, by name or address; without it of all masters together.
        """
        return await self._sum(await self._servers.masters(broker=broker), name, key)

    async def _of_broker(self, name: str, broker: str) -> Rates:
        clusters = await self._servers.clusters()
        targets = await self._servers.masters(broker=broker)
        (found,) = targets
        return await self._sum(targets, name, clusters.broker_addr_table[found].cluster or "")

    async def _traffic(self, targets: dict[str, str], kind: str, key: str) -> Traffic:
        return Traffic(
            await self._sum(targets, f"{kind}_NUMS", key), await self._sum(targets, f"{kind}_SIZE", key)
        )

    async def _sum(self, targets: dict[str, str], name: str, key: str) -> Rates:
        header = ViewBrokerStatsDataRequestHeader(stats_name=name, stats_key=key)
        answers = await each(
            targets,
            lambda address: self._servers.ask(
                address, Code.VIEW_BROKER_STATS_DATA, header=header, accept=_COUNTED_OR_NOT
            ),
        )
        # A broker that has not counted the figure yet says so by an error.
        return together(
            BrokerStatsData.from_json(answer.body)
            for answer in answers.values()
            if answer.code == ResponseCode.SUCCESS
        )


def together(told: Iterable[BrokerStatsData]) -> Rates:
    """Add up what several brokers counted."""
    found = list(told)
    return Rates(
        minute=_added(each.stats_minute for each in found),
        hour=_added(each.stats_hour for each in found),
        day=_added(each.stats_day for each in found),
    )


def _added(items: Iterable[BrokerStatsItem | None]) -> Rate:
    counted = [each for each in items if each]
    return Rate(sum(each.sum for each in counted), sum((each.tps for each in counted), 0.0))
