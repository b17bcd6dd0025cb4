"""What clients do when they are told nothing: RocketMQ's numbers, but where a note says otherwise."""

import pytest

from tailfin.client.consuming.judging import retries_allowed
from tailfin.client.consuming.push_options import PushOptions
from tailfin.client.consuming.settings import ReadSettings
from tailfin.client.options import ClientOptions
from tailfin.client.producer_options import ProducerOptions
from tailfin.client.rebalance import Averagely
from tailfin.config import BrokerConfig


@pytest.mark.shows("PR-01", "FS-01")
def test_a_producer() -> None:
    options = ProducerOptions()
    assert (options.default_topic, options.default_queues) == ("TBW102", 4)
    assert (options.timeout, options.policy.tries) == (3.0, 3)
    assert (options.compress_over, options.max_message_size) == (4 << 10, 4 << 20)
    assert not options.retry_unless_ok
    assert not options.avoid_slow_brokers


@pytest.mark.shows("PC-02", "RB-05")
def test_a_push_consumer() -> None:
    options = PushOptions()
    assert (options.broadcast, options.orderly, options.consume_from) == (False, False, "last")
    assert (options.concurrency, options.batch_size, options.consume_timeout) == (20, 1, 15 * 60)
    assert (options.max_reconsume_times, retries_allowed(-1, orderly=False)) == (-1, 16)
    assert isinstance(options.strategy, Averagely)
    settings = ReadSettings()
    assert (settings.queue_messages, settings.queue_span, settings.queue_bytes) == (1000, 2000, 100 << 20)


@pytest.mark.shows("PL-04", "PL-05", "N-14")
def test_times_of_a_consumer() -> None:
    settings = ReadSettings()
    assert (settings.pull_hold, settings.pull_timeout, settings.trouble_pause) == (15.0, 30.0, 3.0)
    assert (settings.rebalance_interval, settings.lock_interval) == (20.0, 20.0)
    assert BrokerConfig().shortPollingTimeMills == 1000


@pytest.mark.shows("CI-05")
def test_times_of_every_client() -> None:
    options = ClientOptions()
    assert (options.request_timeout, options.route_interval, options.heartbeat_interval) == (3.0, 30.0, 30.0)
