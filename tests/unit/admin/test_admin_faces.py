"""The blocking admin client has what the awaited one has."""

import inspect

import pytest

from tailfin.admin import blocking, client
from tailfin.client.errors import ClientStopped, NoNameServer
from tailfin.config.setting import ConfigError
from tests.unit.admin.scene import Scene
from tests.unit.loops import in_loop

NOUNS = ("topics", "groups", "offsets", "cluster", "messages", "connections", "stats", "dead_letters")
NOWHERE = "127.0.0.1:1"


@pytest.mark.parametrize("noun", NOUNS)
def test_every_method_has_a_blocking_one_of_the_same_name(noun: str) -> None:
    awaited = getattr(client.AdminClient(nameserver=NOWHERE), noun)
    face = getattr(blocking.AdminClient(nameserver=NOWHERE), noun)
    methods = {
        name
        for name, method in inspect.getmembers(type(awaited), inspect.isfunction)
        if not name.startswith("_") and name != "delete_on"
    }
    assert methods == {name for name in dir(face) if not name.startswith("_")}
    assert all(getattr(face, name).__doc__ == getattr(awaited, name).__doc__ for name in methods)


def test_a_client_that_was_not_started_says_so(scene: Scene) -> None:
    admin = blocking.AdminClient(nameserver=scene.cluster.namesrv)
    with pytest.raises(ClientStopped, match="use it in a `with` block"):
        admin.topics.list()
    with admin:
        admin.topics.list()
    with pytest.raises(ClientStopped):
        admin.topics.list()


def test_a_name_server_that_is_not_there_is_named() -> None:
    with blocking.AdminClient(nameserver=NOWHERE) as admin, pytest.raises(NoNameServer, match=NOWHERE):
        admin.topics.list()


def test_without_a_name_server_there_is_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NAMESRV_ADDR", raising=False)
    with pytest.raises(ConfigError, match="NAMESRV_ADDR"):
        blocking.AdminClient()


def test_a_namespace_is_part_of_names() -> None:
    with pytest.raises(ConfigError, match="namespace%name"):
        blocking.AdminClient(nameserver=NOWHERE, namespace="shop")


def test_the_awaited_client_asks_the_same(scene: Scene) -> None:
    scene.admin.topics.create("awaited", queues=1)

    @in_loop
    async def ask() -> None:
        async with client.AdminClient(nameserver=scene.cluster.namesrv) as admin:
            assert await admin.topics.status("awaited") == status
            assert [each async for each in admin.messages.read("awaited")] == []

    status = scene.admin.topics.status("awaited")
    ask()
