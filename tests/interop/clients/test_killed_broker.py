"""Consumers in order over a kill of the broker: they go on where they were, in order."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.crash.waiting import wait_until
from tests.interop.clients import java_client, remoting, servers
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.java_client import saw

GET_MAX_OFFSET = 30


def messages_in(address: str, topic: str) -> int:
    """Return the number of messages in the first queue of a topic."""
    answer = remoting.ask(address, GET_MAX_OFFSET, {"topic": topic, "queueId": 0})
    return int(answer.header.get("extFields", {}).get("offset", 0))


@pytest.mark.shows("OR-04", "U-17")
def test_each_queue_keeps_its_order_over_a_kill_of_the_broker(tmp_path: Path) -> None:
    port = servers.free_broker_port()
    home = tmp_path / "broker"
    with (
        servers.nameserver("tailfin", tmp_path / "namesrv") as namesrv,
        ThreadPoolExecutor(1) as pool,
    ):
        cluster = Cluster("tailfin", namesrv.address, {"broker-a": f"127.0.0.1:{port}"})
        with servers.broker("tailfin", home, namesrv.address, port=port) as broker:
            cluster.wait_registered()
            running = pool.submit(java_client.run, "5.5.0", cluster, tmp_path, "order_steady")
            topic = "v5-tailfin_order-steady"
            wait_until(lambda: messages_in(broker.address, topic) > 30 or running.done(), "sends", 60)
        with servers.broker("tailfin", home, namesrv.address, port=port):
            line = saw(running.result(), "order_steady")
    assert line["failures"], "the producer noticed that the broker was gone"
    assert len(line["queues"]) == 2
    for queue, numbers in line["queues"].items():
        assert list(dict.fromkeys(numbers)) == list(range(int(queue.split("/")[1]), 300, 2))
