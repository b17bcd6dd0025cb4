"""The broker itself: settings, figures, cleaning."""

import asyncio
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tailfin import __version__
from tailfin.broker import latency
from tailfin.broker.config_file import following
from tailfin.config import properties
from tailfin.config.kept import KeptSettings
from tailfin.config.setting import ConfigError
from tailfin.remoting import Request, Response, handles
from tailfin.rounds import Rounds
from tailfin.store.expiry import disk_use
from tailfin.wire import version
from tailfin.wire.bodies.common import DataVersion, KVTable
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.admin import GetBrokerConfigResponseHeader, ViewBrokerStatsDataRequestHeader

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

log = logging.getLogger("tailfin.broker")

POOLS = ("send", "pull", "litePull", "query", "ack")


class NodeAdmin:
    """Handlers about the broker as a whole."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._version = DataVersion()
        self._started_ms = int(time.time() * 1000)
        self._kept = KeptSettings(broker.settings.name_of)
        # One round for all who ask: a flood of requests is not a flood of walks through the folders.
        self._queue_cleaning = Rounds(self._clean_queues)
        self._log_cleaning = Rounds(self._clean_log)

    @handles(Code.GET_BROKER_CONFIG)
    def config(self, request: Request) -> Response:
        """Return every setting."""
        text = properties.text(self._broker.settings.all())
        answer = GetBrokerConfigResponseHeader(version=self._version.to_json().decode())
        return Response(fields=answer.encode(), body=text.encode())

    @handles(Code.UPDATE_BROKER_CONFIG)
    async def update_config(self, request: Request) -> Response:
        """Change settings, here and in the file they came from."""
        try:
            given = properties.parse(request.body.decode())
        except ValueError as error:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"the settings cannot be read: {error}") from None
        try:
            changes = self._broker.settings.named(given)
        except ConfigError as error:
            raise RemotingError(ResponseCode.INVALID_PARAMETER, str(error)) from None
        forbidden = self._broker.settings.forbidden_keys() & changes.keys()
        if forbidden:
            raise RemotingError(
                ResponseCode.NO_PERMISSION,
                "Can not update config in black list. "
                f"{', '.join(sorted(forbidden))} can only be changed in the file",
            )
        try:
            settings = self._broker.settings.changed(changes)
        except ConfigError as error:
            raise RemotingError(ResponseCode.INVALID_PARAMETER, str(error)) from None
        # Written first: what cannot be kept must not be in force until the next start only.
        if path := settings.broker.brokerConfigPath:
            await self._kept.keep(Path(path), changes)
        await self._broker.apply(self._broker.settings.changed(changes))
        self._version = following(self._version)
        log.info("settings changed by %s: %s", request.peer, ", ".join(sorted(changes)))
        return Response()

    @handles(Code.GET_BROKER_RUNTIME_INFO)
    def runtime_info(self, request: Request) -> Response:
        """Return the figures that `brokerStatus` and `clusterList` show."""
        table = {**self._life(), **self._rates(), **self._store(), **self._timer(), **self._idle_pools()}
        return Response(body=KVTable(table=dict(sorted(table.items()))).to_json())

    def _life(self) -> dict[str, str]:
        broker = self._broker
        seconds = int(time.time()) - self._started_ms // 1000
        days, hours, minutes = seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60
        return {
            "bootTimestamp": str(self._started_ms),
            "runtime": f"[ {days} days, {hours} hours, {minutes} minutes, {seconds % 60} seconds ]",
            "brokerActive": str(not broker.is_slave).lower(),
            "brokerVersion": str(version.CURRENT),
            "brokerVersionDesc": version.name(version.CURRENT),
            # Clients that end a transaction twice may do so here, and not at RocketMQ's brokers.
            "tailfinVersion": __version__,
            "startAcceptSendRequestTimeStamp": str(broker.config.startAcceptSendRequestTimeStamp),
        }

    def _rates(self) -> dict[str, str]:
        broker = self._broker
        counting = broker.counting
        totals, days, recent = counting.totals(), counting.days, counting.recent
        puts, size = totals["put"], totals["put_bytes"]
        return {
            "putTps": recent.text("put"),
            "getFoundTps": recent.text("found"),
            "getMissTps": recent.text("missed"),
            "getTotalTps": recent.text("read"),
            "getTransferredTps": recent.text("get"),
            "putMessageTimesTotal": str(puts),
            "putMessageSizeTotal": str(size),
            "putMessageAverageSize": str(size / puts if puts else 0.0),
            "msgPutTotalYesterdayMorning": str(days.yesterday.get("users_put", 0)),
            "msgPutTotalTodayMorning": str(days.today.get("users_put", 0)),
            "msgPutTotalTodayNow": str(totals["users_put"]),
            "msgGetTotalYesterdayMorning": str(days.yesterday.get("users_get", 0)),
            "msgGetTotalTodayMorning": str(days.today.get("users_get", 0)),
            "msgGetTotalTodayNow": str(totals["users_get"]),
        }

    def _store(self) -> dict[str, str]:
        store = self._broker.store
        stats, disk = store.stats(), disk_use(store.config)
        unflushed = store.max_physical_offset - store.flushed_offset
        earliest = self._broker.queries.store_time_at(store.min_physical_offset)
        slowest = stats["slowest_put_ms"]
        table = {
            "commitLogMinOffset": store.min_physical_offset,
            "commitLogMaxOffset": store.max_physical_offset,
            "commitLogDiskRatio": disk.log,
            "consumeQueueDiskRatio": disk.queues,
            "commitLogDirCapacity": self._capacity(),
            "dispatchBehindBytes": stats["dispatch_behind"],
            "dispatchMaxBuffer": 0,
            "earliestMessageTimeStamp": -1 if earliest is None else earliest,
            "pageCacheLockTimeMills": stats["lock_held_ms"] if stats["lock_held_ms"] < 10_000_000 else 0,
            "putMessageEntireTimeMax": slowest,
            "putMessageDistributeTime": latency.distribution(stats["put_times"]),
            "putLatency99": latency.share_within_ms(stats["put_times"], 0.99, slowest),
            "putLatency999": latency.share_within_ms(stats["put_times"], 0.999, slowest),
            "getMessageEntireTimeMax": self._broker.hot.slowest_read_ms(),
            "putMessageFailedTimes": sum(stats["refused"].values()),
            "remainHowManyDataToCommit": 0,
            "remainHowManyDataToFlush": f"{unflushed} B",
            "remainTransientStoreBufferNumbs": 0,
        }
        for level, (offset, end) in self._broker.schedule.progress().items():
            if end:
                table[f"scheduleMessageOffset_{level}"] = f"{offset},{end}"
        return {key: str(value) for key, value in table.items()}

    def _capacity(self) -> str:
        total, free = self._broker.disk_space()
        return f"Total : {total / (1 << 30):.1f} GiB, Free : {free / (1 << 30):.1f} GiB."

    def _idle_pools(self) -> dict[str, str]:
        """Report the queues of RocketMQ's thread pools, which have no counterpart here, as empty."""
        table = {"EndTransactionQueueSize": "0", "EndTransactionThreadPoolQueueCapacity": "0"}
        for pool in POOLS:
            table[f"{pool}ThreadPoolQueueSize"] = "0"
            table[f"{pool}ThreadPoolQueueCapacity"] = "0"
            table[f"{pool}ThreadPoolQueueHeadWaitTimeMills"] = "0"
        return table

    def _timer(self) -> dict[str, str]:
        figures = {**self._broker.timers.figures(), "EnqueueTps": 0, "DequeueTps": 0}
        return {f"timer{name}": str(figure) for name, figure in figures.items()}

    @handles(Code.VIEW_BROKER_STATS_DATA)
    def stats(self, request: Request) -> Response:
        """Return the rates of one statistic."""
        header = ViewBrokerStatsDataRequestHeader.decode(request.fields)
        found = self._broker.counting.stats.rates(header.stats_name, header.stats_key)
        if found is None:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"The stats <{header.stats_name}> <{header.stats_key}> not exist"
            )
        return Response(body=found.to_json())

    @handles(Code.CLEAN_EXPIRED_CONSUMEQUEUE)
    async def clean_queues(self, request: Request) -> Response:
        """Delete queue files of which all messages are gone."""
        await self._queue_cleaning.served()
        return Response()

    async def _clean_queues(self) -> None:
        await asyncio.to_thread(self._broker.store.delete_expired_queue_files)

    @handles(Code.DELETE_EXPIRED_COMMITLOG)
    async def clean_log(self, request: Request) -> Response:
        """Delete expired log files now, whatever the hour."""
        await self._log_cleaning.served()
        return Response()

    async def _clean_log(self) -> None:
        await asyncio.to_thread(self._broker.store.clean, now=True)
