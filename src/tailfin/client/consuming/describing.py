"""A consumer as tools and users see it."""

import time

from tailfin.client.consuming.dispatching import Dispatcher
from tailfin.client.consuming.failing import Failures
from tailfin.client.consuming.group import Group
from tailfin.client.consuming.push_options import PushOptions
from tailfin.client.consuming.stats import ConsumerStats, QueueStats
from tailfin.client.queues import Queue
from tailfin.wire import version
from tailfin.wire.bodies.stats import ConsumerRunningInfo, ProcessQueueInfo


def queue_stats(group: Group) -> dict[Queue, QueueStats]:
    """Return how each queue stands."""
    committed = group.readings.progress()
    with group.guard:
        return {
            group.queue_for_user(reading.queue): QueueStats(
                committed=committed.get(reading.queue, 0),
                read_to=reading.cached.read_to,
                cached=reading.cached.count + (reading.reader.ready if reading.reader is not None else 0),
                full=reading.reader is not None and reading.reader.full,
            )
            for reading in group.readings
        }


def stats_of(group: Group, dispatcher: Dispatcher, failures: Failures) -> ConsumerStats:
    """Return a push consumer's figures."""
    return ConsumerStats(
        consumed=dispatcher.consumed,
        failed=dispatcher.failures,
        handed_back=failures.handed_back,
        skipped=failures.skipped,
        running=dispatcher.running,
        queues=queue_stats(group),
    )


def running_info(group: Group, options: PushOptions, begun_ms: int) -> ConsumerRunningInfo:
    """Return what `consumerStatus` of an admin tool shows."""
    committed = group.readings.progress()
    now = time.monotonic()
    with group.guard:
        queues = {
            reading.queue.to_body(): ProcessQueueInfo(
                commit_offset=committed.get(reading.queue, 0),
                cached_msg_min_offset=reading.cached.commit_offset if reading.cached.count else 0,
                cached_msg_max_offset=reading.cached.read_to - 1 if reading.cached.count else 0,
                cached_msg_count=reading.cached.count,
                locked=options.orderly and reading.locked_until > now,
                droped=reading.cached.dropped,
            )
            for reading in group.readings
        }
    return ConsumerRunningInfo(
        properties={
            "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
            "PROP_CONSUMEORDERLY": "true" if options.orderly else "false",
            "PROP_CONSUMER_START_TIMESTAMP": str(begun_ms),
            "PROP_THREADPOOL_CORE_SIZE": str(options.concurrency),
            "PROP_NAMESERVER_ADDR": ";".join(group.network.nameservers.addresses),
            "PROP_CLIENT_VERSION": version.name(version.CURRENT),
            "consumerGroup": group.group,
            "messageModel": "BROADCASTING" if group.broadcast else "CLUSTERING",
            "allocateMessageQueueStrategy": options.strategy.name,
            "consumeMessageBatchMaxSize": str(options.batch_size),
            "maxReconsumeTimes": str(options.max_reconsume_times),
        },
        subscription_set=list(group.subscriptions.values()),
        mq_table=queues,
    )
