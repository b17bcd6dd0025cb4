import logging
from pathlib import Path

import pytest

from tailfin.config import BrokerSettings, ConfigError, ServerConfig
from tailfin.config.broker import BrokerConfig
from tailfin.config.namesrv import NamesrvSettings

SAMPLE = """\
brokerClusterName = DefaultCluster
brokerName = broker-a
brokerId = 0
namesrvAddr = 127.0.0.1:9876
deleteWhen = 04
fileReservedTime = 48
brokerRole = ASYNC_MASTER
flushDiskType = ASYNC_FLUSH
autoCreateTopicEnable = true
# where
storePathRootDir = /data/中文
"""


@pytest.mark.shows("CF-01", "CF-03")
def test_sample_file_feeds_broker_and_store(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_text(SAMPLE, encoding="utf-8")
    settings = BrokerSettings.load(path)
    assert (settings.broker.brokerName, settings.broker.brokerClusterName) == ("broker-a", "DefaultCluster")
    assert settings.broker.name_servers() == ["127.0.0.1:9876"]
    assert settings.store.fileReservedTime == 48
    assert settings.store.storePathRootDir == "/data/中文"
    assert settings.broker.brokerConfigPath == str(path)


@pytest.mark.shows("CF-13", "CF-14")
def test_defaults_are_rocketmqs() -> None:
    config = BrokerConfig()
    assert (config.listenPort, config.defaultTopicQueueNums, config.brokerPermission) == (10911, 8, 6)
    assert (config.registerNameServerPeriod, config.forceRegister) == (30_000, True)
    assert (config.longPollingEnable, config.shortPollingTimeMills) == (True, 1000)
    assert (config.regionId, config.traceOn, config.rejectTransactionMessage) == (
        "DefaultRegion",
        True,
        False,
    )
    assert config.autoCreateTopicEnable
    assert not config.slaveReadEnable


@pytest.mark.shows("CF-04")
def test_defaults_of_a_server_are_rocketmqs_and_its_other_keys_are_taken() -> None:
    config = ServerConfig()
    assert (config.serverSelectorThreads, config.serverChannelMaxIdleTimeSeconds) == (3, 120)
    assert (config.serverSocketSndBufSize, config.serverSocketRcvBufSize) == (0, 0)
    of_java = {
        "serverWorkerThreads": 8,
        "serverCallbackExecutorThreads": 0,
        "serverOnewaySemaphoreValue": 256,
        "serverAsyncSemaphoreValue": 64,
        "serverPooledByteBufAllocatorEnable": True,
        "useEpollNativeSelector": False,
    }
    listed = BrokerSettings.of(of_java).all()
    assert {key: listed[key] for key in of_java} == {
        key: str(value).lower() for key, value in of_java.items()
    }


def test_keywords_win_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_text("listenPort=1\nbrokerName=a\n")
    assert BrokerSettings.load(path, listenPort=2).broker.listenPort == 2


def test_keywords_win_over_the_file_however_a_key_is_spelt(tmp_path: Path) -> None:
    path = tmp_path / "broker.conf"
    path.write_text("tls.server.mode=permissive\nmapedFileSizeCommitLog=1048576\n")
    given = {"tls.server.mode": "enforcing", "mapedFileSizeCommitLog": 2097152}
    settings = BrokerSettings.load(path, **given)
    assert (settings.server.tlsServerMode, settings.store.mappedFileSizeCommitLog) == ("enforcing", 2097152)
    path.write_text("tls.server.mode=permissive\n")
    assert NamesrvSettings.load(path, **{"tls.server.mode": "enforcing"}).server.tlsServerMode == "enforcing"


def test_unknown_key_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match="did you mean 'autoCreateTopicEnable'"):
        BrokerSettings.of({"autoCreateTopicEnabled": "true"})


def test_key_like_no_other_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(
        ConfigError, match="unknown setting 'zzzzzz'; RocketMQ has none of that name, take it out"
    ):
        BrokerSettings.of({"zzzzzz": "true"})


def test_key_without_effect_is_accepted_and_said_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tailfin.config.setting._said", set())
    with caplog.at_level(logging.INFO, "tailfin.config"):
        BrokerSettings.of({"sendMessageThreadPoolNums": "4", "listenPort": "1"})
        BrokerSettings.of({"sendMessageThreadPoolNums": "4"})
    assert [record.getMessage() for record in caplog.records] == [
        "accepted, but without effect in this part: sendMessageThreadPoolNums"
    ]


@pytest.mark.parametrize(
    ("key", "asked", "served"),
    [
        ("aclEnable", "true", "false"),
        ("authenticationEnabled", "TRUE", "false"),
        ("authorizationEnabled", "true", "False"),
        ("storeType", "defaultRocksDB", "default"),
        ("enableDLegerCommitLog", "true", "false"),
        ("duplicationEnable", "true", "false"),
        ("enableControllerMode", "true", "false"),
        ("acl.enable", "true", "false"),
    ],
)
def test_safety_that_is_not_there_is_refused_with_advice(key: str, asked: str, served: str) -> None:
    with pytest.raises(ConfigError, match=r"can only be (false|default) here, .*Take the line out"):
        BrokerSettings.of({key: asked})
    with pytest.raises(ConfigError, match="can only be"):
        BrokerSettings().changed({key: asked})
    BrokerSettings.of({key: served})


def test_master_has_id_0_and_a_slave_a_greater_one() -> None:
    assert BrokerSettings.of({"brokerId": 3, "brokerRole": "SYNC_MASTER"}).broker.brokerId == 0
    assert BrokerSettings.of({"brokerId": 3, "brokerRole": "SLAVE"}).broker.brokerId == 3
    with pytest.raises(ConfigError, match="brokerId above 0"):
        BrokerSettings.of({"brokerId": 0, "brokerRole": "SLAVE"})


@pytest.mark.parametrize("text", ["127.0.0.1", ":9876", "host:0", "host:99999", "a:1;b"])
def test_name_server_without_host_or_port_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="namesrvAddr"):
        BrokerConfig(namesrvAddr=text)


def test_names_that_no_topic_could_have_are_refused() -> None:
    with pytest.raises(ConfigError, match="brokerName"):
        BrokerConfig(brokerName="a b")


def test_every_setting_in_force_is_listed_with_what_was_given() -> None:
    listed = BrokerSettings.of({"listenPort": 7, "sendMessageThreadPoolNums": 4, "traceOn": False}).all()
    assert (listed["listenPort"], listed["sendMessageThreadPoolNums"], listed["traceOn"]) == (
        "7",
        "4",
        "false",
    )
    assert listed["maxMessageSize"] == "4194304"
    assert list(listed) == sorted(listed)


def test_change_keeps_what_was_given_before() -> None:
    settings = BrokerSettings.of({"listenPort": 7}).changed({"traceOn": "false"})
    assert (settings.broker.listenPort, settings.broker.traceOn) == (7, False)


@pytest.mark.shows("BK-08")
def test_registration_period_is_moved_into_its_range() -> None:
    assert BrokerConfig(registerNameServerPeriod=1).registerNameServerPeriod == 10_000
    assert BrokerConfig(registerNameServerPeriod=10**6).registerNameServerPeriod == 60_000


def test_every_setting_says_what_it_is_for() -> None:
    helps = [each.metadata["rule"].help for each in BrokerConfig.__dataclass_fields__.values()]
    assert all(text.endswith(".") for text in helps)
