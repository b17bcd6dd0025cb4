"""What clients can be told, and what they say to nonsense."""

import dataclasses
import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import tailfin
from tailfin.client.options import ClientKeywords, ClientOptions
from tailfin.client.tls import Tls
from tailfin.errors import ConfigError


def test_the_typed_keywords_are_the_options() -> None:
    fields = {each.name: each.type for each in dataclasses.fields(ClientOptions)}
    assert ClientKeywords.__annotations__ == fields


@pytest.mark.shows("CF-16")
def test_several_name_servers_in_one_text_or_as_a_list() -> None:
    assert ClientOptions(nameserver="a:1; b:2;a:1;").nameservers({}) == ("a:1", "b:2")
    assert ClientOptions(nameserver=["a:1", "b:2"]).nameservers({}) == ("a:1", "b:2")


def test_the_environment_says_where_the_name_server_is() -> None:
    assert ClientOptions().nameservers({"NAMESRV_ADDR": "ns:9876"}) == ("ns:9876",)
    assert ClientOptions(nameserver="own:1").nameservers({"NAMESRV_ADDR": "ns:9876"}) == ("own:1",)


def test_no_name_server_says_how_to_give_one() -> None:
    with pytest.raises(ConfigError, match=r'pass nameserver="host:9876" or set .* NAMESRV_ADDR'):
        ClientOptions().nameservers({})


def test_an_address_without_port_says_what_one_looks_like() -> None:
    with pytest.raises(ConfigError, match=r"an address is host:port, not 'localhost'.*usual port is 9876"):
        ClientOptions(nameserver="localhost").nameservers({})


def test_half_a_key_pair_is_refused() -> None:
    with pytest.raises(ConfigError, match="access_key and secret_key belong together"):
        ClientOptions(access_key="me")


def test_a_time_of_nothing_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="heartbeat_interval is a number of seconds above 0, not 0"):
        ClientOptions(heartbeat_interval=0)


@pytest.mark.parametrize(
    ("make", "options", "said"),
    [
        (tailfin.Producer, {"timeout": "3"}, "timeout is a number of seconds above 0, not '3'"),
        (tailfin.Producer, {"linger": -1}, "linger is a number of seconds of at least 0, not -1"),
        (tailfin.Producer, {"retries": 1.5}, "retries is a whole number of at least 0, not 1.5"),
        (tailfin.PushConsumer, {"suspend": 60}, "suspend is a number of seconds from 0.01 to 30, not 60"),
        (tailfin.PushConsumer, {"queue_bytes": 0}, "queue_bytes is a whole number from 1 to 1099511627776"),
        (tailfin.PushConsumer, {"request_timeout": "3"}, "request_timeout is a number of seconds above 0"),
    ],
)
def test_a_number_that_cannot_work_is_refused_by_name(
    make: Callable[..., object], options: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        make("group", nameserver="a:1", **options)


def test_tls_checks_names_unless_told_otherwise() -> None:
    assert ClientOptions().tls_settings() is None
    settings = ClientOptions(tls=True).tls_settings()
    assert settings
    assert settings.context().check_hostname
    lax = Tls(check_hostname=False).context()
    assert (lax.check_hostname, lax.verify_mode) == (False, ssl.CERT_REQUIRED)
    blind = Tls(verify=False).context()
    assert (blind.check_hostname, blind.verify_mode) == (False, ssl.CERT_NONE)


def test_a_missing_tls_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.pem"):
        Tls(ca=tmp_path / "nowhere.pem").context()


@pytest.mark.parametrize(
    ("make", "given", "near"),
    [
        (partial(tailfin.Producer, "g"), "name_server", "nameserver"),
        (partial(tailfin.Producer, "g"), "retry", "retries"),
        (partial(tailfin.PushConsumer, "g", subscribe={}), "batchsize", "batch_size"),
        (partial(tailfin.LitePullConsumer, "g"), "autocommit", "auto_commit"),
        (partial(tailfin.PullConsumer, "g"), "name_servers", "nameserver"),
        (partial(tailfin.AdminClient), "nameservers", "nameserver"),
    ],
)
def test_a_misspelt_option_is_named_with_the_nearest_that_exists(
    make: Callable[..., object], given: str, near: str
) -> None:
    with pytest.raises(TypeError, match=f"no option '{given}': did you mean '{near}'"):
        make(**{given: "a:1"})
