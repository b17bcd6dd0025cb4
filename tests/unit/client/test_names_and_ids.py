"""Names: of clients, and of topics and groups inside a namespace."""

import os

import pytest

from tailfin.client.ids import identity
from tailfin.client.names import unwrap, wrap


def test_two_clients_never_have_the_same_id() -> None:
    assert len({identity(host="10.0.0.1", instance="same").client_id for _ in range(100)}) == 100


@pytest.mark.shows("CF-16")
def test_a_client_id_says_host_process_and_unit() -> None:
    names = identity(host="10.0.0.1", unit="north")
    assert names.client_id.startswith(f"10.0.0.1@{os.getpid()}#")
    assert names.client_id.endswith("@north")


@pytest.mark.shows("CF-16", "BC-04")
def test_what_is_kept_on_disk_is_found_again_under_the_instance() -> None:
    assert identity(host="10.0.0.1", instance="till-3").stable_id == "10.0.0.1@till-3"
    assert identity(host="10.0.0.1").stable_id == "10.0.0.1@DEFAULT"


@pytest.mark.shows("PR-11")
@pytest.mark.parametrize(
    ("name", "wrapped"),
    [
        ("orders", "shop%orders"),
        ("%RETRY%billing", "%RETRY%shop%billing"),
        ("%DLQ%billing", "%DLQ%shop%billing"),
        ("shop%orders", "shop%orders"),
        ("%RETRY%shop%billing", "%RETRY%shop%billing"),
    ],
)
def test_a_namespace_is_put_before_a_name_once_and_taken_away_for_the_user(name: str, wrapped: str) -> None:
    assert wrap("shop", name) == wrapped
    assert wrap("shop", unwrap("shop", wrapped)) == wrapped
    assert "shop%" not in unwrap("shop", wrapped)


@pytest.mark.parametrize("name", ["TBW102", "RMQ_SYS_TRACE_TOPIC", "rmq_sys_x", "CID_RMQ_SYS_TRANS"])
def test_the_systems_own_names_have_no_namespace(name: str) -> None:
    assert wrap("shop", name) == name


def test_without_a_namespace_names_stay() -> None:
    assert wrap(None, "orders") == unwrap(None, "orders") == "orders"
