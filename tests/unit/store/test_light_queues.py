import pytest

from tailfin.store import Store
from tests.unit.store.conftest import Open

LIGHT = {"enableLmq": True, "enableMultiDispatch": True}


def put(store: Store, topic: str, names: str, queue_id: int = 0) -> None:
    store.append(topic, b"x", queue_id, properties={"INNER_MULTI_DISPATCH": names, "WAIT": "true"})


@pytest.mark.shows("RD-16", "RD-17")
def test_a_message_stands_in_every_light_queue_that_it_names(reopen: Open) -> None:
    store = reopen(**LIGHT)
    put(store, "T", "%LMQ%a,%LMQ%b", queue_id=3)
    put(store, "T", "%LMQ%b")
    assert store.wait_for("%LMQ%b", 0, 1, 5)
    assert (store.max_offset("%LMQ%a", 0), store.max_offset("%LMQ%b", 0)) == (1, 2)
    second = store.read("%LMQ%b", 0, 1)[0]
    assert second.properties == {
        "INNER_MULTI_DISPATCH": "%LMQ%b",
        "WAIT": "true",
        "INNER_MULTI_QUEUE_OFFSET": "1",
    }


def test_a_name_that_no_queue_can_have_keeps_no_other_from_its_message(reopen: Open) -> None:
    store = reopen(**LIGHT)
    put(store, "T", "%LMQ%no/queue,%LMQ%c")
    assert store.wait_for("%LMQ%c", 0, 0, 5)
    assert list(store.topics()) == ["%LMQ%c", "T"]


@pytest.mark.parametrize("topic", ["%RETRY%g", "%DLQ%g", "rmq_sys_x", "SCHEDULE_TOPIC_XXXX"])
def test_some_topics_reach_no_light_queue(topic: str, reopen: Open) -> None:
    store = reopen(**LIGHT)
    put(store, topic, "%LMQ%a")
    assert store.wait_for(topic, 0, 0, 5)
    assert list(store.topics()) == [topic]


def test_without_light_queues_the_property_is_any_other(reopen: Open) -> None:
    store = reopen(enableMultiDispatch=True)
    put(store, "T", "%LMQ%a")
    assert store.wait_for("T", 0, 0, 5)
    assert list(store.topics()) == ["T"]
    assert store.read("T")[0].properties == {"INNER_MULTI_DISPATCH": "%LMQ%a", "WAIT": "true"}
