"""A `broker.conf` or `namesrv.conf` that RocketMQ wrote itself names every field of its settings."""

import re
import shutil
import subprocess

import pytest

from tailfin.config import BrokerSettings
from tailfin.config.namesrv import NamesrvSettings
from tests.interop.clients.java_programs import PROJECTS

SOCKETS = ("remoting.netty.NettyServerConfig", "remoting.netty.NettyClientConfig")
BROKER_4 = ("common.BrokerConfig", *SOCKETS)
BROKER_5 = ("common.BrokerIdentity", "auth.config.AuthConfig", "tieredstore.MessageStoreConfig", *BROKER_4)
STORE = "store.config.MessageStoreConfig"
NAMESRV_4 = ("common.namesrv.NamesrvConfig", *SOCKETS)
NAMESRV_5 = ("common.ControllerConfig", "common.JraftConfig", *NAMESRV_4)

FIELD = re.compile(r"^  (?!.*\bstatic\b)[^()]* (\w+);$", re.MULTILINE)
SETTER = re.compile(r"^  public \w+ set(\w+)\(", re.MULTILINE)


def keys_of(version: str, name: str) -> set[str]:
    """Return what RocketMQ writes for a class of settings, its fields, and what it reads, its setters."""
    javap, folder = shutil.which("javap"), PROJECTS[version] / "lib"
    if javap is None or not folder.is_dir():
        pytest.fail("the official jars are not there: run `make peers`", pytrace=False)
    jars = ":".join(str(jar) for jar in sorted(folder.glob("rocketmq-*.jar")))
    command = [javap, "-p", "-cp", jars, f"org.apache.rocketmq.{name}"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    keys = {*FIELD.findall(shown), *(key[0].lower() + key[1:] for key in SETTER.findall(shown))}
    assert keys, shown
    return keys


@pytest.mark.parametrize(
    ("settings", "version", "classes"),
    [
        pytest.param(BrokerSettings, "4.9.7", (STORE, *BROKER_4), id="broker-4.9.7"),
        # Clients of this version need no store, so its jar is not fetched.
        pytest.param(BrokerSettings, "4.9.8", BROKER_4, id="broker-4.9.8"),
        pytest.param(BrokerSettings, "5.5.0", (STORE, *BROKER_5), id="broker-5.5.0"),
        pytest.param(NamesrvSettings, "4.9.7", NAMESRV_4, id="namesrv-4.9.7"),
        pytest.param(NamesrvSettings, "4.9.8", NAMESRV_4, id="namesrv-4.9.8"),
        pytest.param(NamesrvSettings, "5.5.0", NAMESRV_5, id="namesrv-5.5.0"),
    ],
)
def test_every_key_of_rocketmqs_own_settings_is_known(
    settings: type[BrokerSettings] | type[NamesrvSettings], version: str, classes: tuple[str, ...]
) -> None:
    for name in classes:
        settings.named(dict.fromkeys(keys_of(version, name), ""))
