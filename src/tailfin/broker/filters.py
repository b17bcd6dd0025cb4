"""Filters by properties: which expressions are served, what each group wants, and `consumerFilter.json`.

The engine judges messages with the compiled expression that is kept here. A group that leaves is marked dead
and forgotten after `filterDataCleanTimeSpan`; one that comes back with the same filter is the old one.
"""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tailfin.broker.bloom import BloomFilter
from tailfin.broker.config_file import ConfigFile
from tailfin.config.broker import BrokerConfig
from tailfin.message import BadExpression, SqlFilter
from tailfin.wire.bodies.clients import SubscriptionData
from tailfin.wire.bodies.filters import ConsumerFilterData, ConsumerFilterTable, FilterDataMapByTopic
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError

log = logging.getLogger("tailfin.broker")

TAG = "TAG"
SQL92 = "SQL92"
GONE_BEFORE_LOAD_MS = 30_000
"""Who was there when the file was written counts as gone for this long when it is read."""


def is_tag(kind: str | None) -> bool:
    """Tell whether a filter is by tags, which is what one without a type is."""
    return kind in (None, "", TAG)


def compiled(kind: str | None, expression: str | None) -> SqlFilter:
    """Compile a filter that is not by tags.

    Raises:
        RemotingError: it cannot be read; the text says at which position.
    """
    if kind != SQL92:
        raise _unreadable(f"filters of type {kind} are not known here, only {TAG} and {SQL92}")
    try:
        return SqlFilter(expression or "")
    except BadExpression as error:
        raise _unreadable(f"the filter {expression!r} cannot be read: {error}") from None
    except UnicodeEncodeError:
        raise _unreadable(f"the filter {expression!r} holds half a character") from None


def check(config: BrokerConfig, kind: str | None, expression: str | None) -> None:
    """Refuse a filter that is not served here.

    Raises:
        RemotingError: filters by properties are off, or this one cannot be read.
    """
    if is_tag(kind):
        return
    check_enabled(config, kind)
    compiled(kind, expression)


def check_enabled(config: BrokerConfig, kind: str | None) -> None:
    """Refuse filters other than by tags where they are off.

    Raises:
        RemotingError: they are.
    """
    if not config.enablePropertyFilter:
        raise RemotingError(
            ResponseCode.SYSTEM_ERROR,
            f"The broker does not support consumer to filter message by {kind}: set "
            "enablePropertyFilter=true on it",
        )


def _unreadable(remark: str) -> RemotingError:
    return RemotingError(ResponseCode.SUBSCRIPTION_PARSE_FAILED, remark)


@dataclass(frozen=True, slots=True)
class GroupFilter:
    """What a group wants of a topic, and the same as the engine takes it."""

    data: ConsumerFilterData
    sql: SqlFilter

    def alive(self, *, client_version: int | None = None) -> "GroupFilter":
        """Return it as of a group that is there."""
        version = self.data.client_version if client_version is None else client_version
        return replace(self, data=replace(self.data, dead_time=0, dead=False, client_version=version))

    def dead(self, at: int) -> "GroupFilter":
        """Return it as of a group that left."""
        when = max(at, self.data.born_time)
        return replace(self, data=replace(self.data, dead_time=when, dead=True))


class ConsumerFilters:
    """All groups' filters, by topic and group."""

    def __init__(
        self,
        folder: Path,
        config: BrokerConfig,
        clock_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.config = config
        self._clock_ms = clock_ms
        self._bloom = BloomFilter.of(config.maxErrorRateOfBloomFilter, config.expectConsumerNumUseFilter)
        self._file = ConfigFile(folder / "consumerFilter.json", ConsumerFilterTable)
        self._filters: dict[tuple[str, str], GroupFilter] = {}
        self._changed = False

    def get(self, topic: str, group: str) -> GroupFilter | None:
        """Return a group's filter on a topic, None when it has none that can be read."""
        return self._filters.get((topic, group))

    def follow(self, group: str, topic: str, subscription: SubscriptionData | None) -> None:
        """Note what a group wants of a topic from now on; None: nothing any more."""
        if subscription is None:
            self._leave(topic, group)
        elif not is_tag(subscription.expression_type) and subscription.sub_string:
            self._register(topic, group, subscription)

    def _leave(self, topic: str, group: str) -> None:
        old = self.get(topic, group)
        if old is not None and not old.data.dead:
            self._put(topic, group, old.dead(self._clock_ms()))

    def _register(self, topic: str, group: str, new: SubscriptionData) -> None:
        old = self.get(topic, group)
        if old is None:
            self._replace(topic, group, new)
            return
        same = (old.data.expression, old.data.expression_type) == (new.sub_string, new.expression_type)
        if new.sub_version <= old.data.client_version:
            if not same:
                log.warning(
                    "the filter %r of group %s on topic %s is older (%d) than the one it has (%d: %r), which "
                    "stays: let the clients' clocks agree, or give the group another name",
                    new.sub_string,
                    group,
                    topic,
                    new.sub_version,
                    old.data.client_version,
                    old.data.expression,
                )
            if new.sub_version == old.data.client_version and old.data.dead:
                self._put(topic, group, old.alive())
        elif same:
            self._put(topic, group, old.alive(client_version=new.sub_version))
        else:
            self._replace(topic, group, new)

    def _replace(self, topic: str, group: str, new: SubscriptionData) -> None:
        try:
            sql = compiled(new.expression_type, new.sub_string)
        except RemotingError as error:
            log.warning("group %s on topic %s: %s", group, topic, error.remark)
            if self._filters.pop((topic, group), None):
                self._changed = True
            return
        if sql.unread:
            log.warning(
                "group %s on topic %s: the filter %r is read up to %r only, which does not belong to it",
                group,
                topic,
                new.sub_string,
                sql.unread,
            )
        data = ConsumerFilterData(
            consumer_group=group,
            topic=topic,
            expression=new.sub_string,
            expression_type=new.expression_type,
            born_time=self._clock_ms(),
            client_version=new.sub_version,
            bloom_filter_data=self._bloom.positions(f"{group}#{topic}"),
        )
        self._put(topic, group, GroupFilter(data, sql))

    def _put(self, topic: str, group: str, new: GroupFilter) -> None:
        self._filters[topic, group] = new
        self._changed = True

    def load(self) -> None:
        """Read the file; everyone in it counts as gone."""
        content = self._file.read()
        if content is None:
            return
        found = list(self._kept(content))
        if not all(self._bloom.is_valid(data.bloom_filter_data) for _, _, data in found):
            log.info("consumerFilter.json was written with other bloom settings; it begins anew")
            return
        for topic, group, data in found:
            try:
                sql = compiled(data.expression_type, data.expression)
            except RemotingError as error:
                log.warning("consumerFilter.json: group %s on topic %s: %s", group, topic, error.remark)
                continue
            filter_ = GroupFilter(replace(data, dead=data.dead_time >= data.born_time), sql)
            if not data.dead_time:
                filter_ = filter_.dead(self._clock_ms() - GONE_BEFORE_LOAD_MS)
            self._filters[topic, group] = filter_

    def _kept(self, content: ConsumerFilterTable) -> Iterator[tuple[str, str, ConsumerFilterData]]:
        for topic, of_topic in content.filter_data_by_topic.items():
            for group, data in of_topic.group_filter_data.items():
                yield topic, group, data

    def clean(self) -> None:
        """Forget the filters of groups that left long ago."""
        limit = self._clock_ms() - self.config.filterDataCleanTimeSpan
        kept = {
            key: each
            for key, each in self._filters.items()
            if not each.data.dead or each.data.dead_time > limit
        }
        self._changed = self._changed or len(kept) != len(self._filters)
        self._filters = kept

    def snapshot(self) -> ConsumerFilterTable:
        """Return the table as the file holds it."""
        by_topic: dict[str, dict[str, ConsumerFilterData]] = {}
        for (topic, group), each in sorted(self._filters.items()):
            by_topic.setdefault(topic, {})[group] = each.data
        return ConsumerFilterTable(
            filter_data_by_topic={
                topic: FilterDataMapByTopic(topic=topic, group_filter_data=groups)
                for topic, groups in by_topic.items()
            }
        )

    def persist_if_changed(self) -> None:
        """Write the file when a filter changed since the last time."""
        self.clean()
        if self._changed:
            self._file.write(self.snapshot())
            self._changed = False
