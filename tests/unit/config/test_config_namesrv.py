"""The settings of a name server."""

from pathlib import Path

import pytest

from tailfin.config import properties
from tailfin.config.namesrv import NamesrvConfig, NamesrvSettings
from tailfin.config.setting import ConfigError


@pytest.mark.shows("NS-01", "NS-05")
def test_defaults_are_those_of_rocketmq(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ROCKETMQ_HOME", "/opt/rocketmq")
    settings = NamesrvSettings.load()
    config = settings.namesrv
    assert (config.listenPort, config.productEnvName, config.clusterTest) == (9876, "center", False)
    assert (config.rocketmqHome, config.orderMessageEnable) == ("/opt/rocketmq", False)
    assert config.key_values() == tmp_path / "namesrv/kvConfig.json"
    assert config.stored_at() == tmp_path / "namesrv/namesrv.properties"
    assert settings.fixed_keys() == {"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"}


@pytest.mark.shows("NS-02", "NS-04")
def test_a_file_feeds_name_server_and_sockets_and_is_where_changes_go(tmp_path: Path) -> None:
    path = tmp_path / "namesrv.conf"
    path.write_text("listenPort=1234\nserverChannelMaxIdleTimeSeconds=7\nclientRequestThreadPoolNums=8\n")
    settings = NamesrvSettings.load(path, listenPort=4321)
    assert settings.namesrv.listenPort == 4321
    assert settings.server.serverChannelMaxIdleTimeSeconds == 7
    assert settings.namesrv.stored_at() == path


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"listenProt": "1"}, "did you mean 'listenPort'"),
        ({"listenPort": "65536"}, "at most 65535"),
        ({"scanNotActiveBrokerInterval": "0"}, "at least 1"),
        ({"supportActingMaster": "yes"}, "true or false"),
    ],
)
def test_a_setting_that_cannot_work_is_an_error(values: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        NamesrvSettings.of(values)


def test_a_changed_copy_keeps_what_was_given() -> None:
    settings = NamesrvSettings.of({"listenPort": 5}).changed({"enableTopicList": "false"})
    assert (settings.namesrv.listenPort, settings.namesrv.enableTopicList) == (5, False)
    assert settings.all()["enableTopicList"] == "false"
    assert set(NamesrvConfig.keys()) < set(settings.all())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "k=new\n"),
        ("k=old", "k=new\n"),
        ("# k=1\nk : old\na=b", "# k=1\na=b\nk=new\n"),
        ("k=1\\\n  2\r\nkk=3\r\n! k\n", "kk=3\r\n! k\nk=new\n"),
        ("a=1\\\n#k=2\nk=3\n", "a=1\\\n#k=2\nk=new\n"),
        ("a=1\r\nk=2", "a=1\r\nk=new\r\n"),
    ],
)
def test_changing_a_key_keeps_every_other_line(before: str, after: str) -> None:
    assert properties.changed(before, {"k": "new"}) == after


@pytest.mark.parametrize("value", ["", " x", "a\\b", "tab\tend", "line\nfeed", "ü=:#!"])
def test_written_values_read_back(value: str) -> None:
    assert properties.parse(properties.text({"a b=c": value})) == {"a b=c": value}
