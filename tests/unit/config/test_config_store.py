import logging
from pathlib import Path

import pytest

from tailfin.config import ConfigError, StoreConfig, setting
from tailfin.config.known import KNOWN

ENGINE_KEYS = """
mappedFileSizeCommitLog mappedFileSizeConsumeQueue enableConsumeQueueExt mappedFileSizeConsumeQueueExt
maxHashSlotNum maxIndexNum messageIndexEnable messageIndexSafe maxMessageSize maxTopicLength
autoMessageVersionOnTopicLen enabledAppendPropCRC forceVerifyPropCRC flushDiskType syncFlushTimeout
flushIntervalCommitLog flushCommitLogLeastPages flushCommitLogThoroughInterval flushCommitLogTimed
flushIntervalConsumeQueue flushConsumeQueueLeastPages flushConsumeQueueThoroughInterval
transientStorePoolEnable transientStorePoolSize fastFailIfNoBufferInStorePool commitIntervalCommitLog
commitCommitLogLeastPages commitCommitLogThoroughInterval warmMapedFileEnable
flushLeastPagesWhenWarmMapedFile checkCRCOnRecover osPageCacheBusyTimeOutMills
maxTransferBytesOnMessageInMemory maxTransferCountOnMessageInMemory maxTransferBytesOnMessageInDisk
maxTransferCountOnMessageInDisk accessMessageInMemoryMaxRatio maxMsgsNumBatch enableLmq
enableMultiDispatch maxLmqConsumeQueueNum messageDelayLevel brokerRole storeHost
storePathCommitLog storePathConsumeQueue storePathConsumeQueueExt storePathIndex storeCheckpoint abortFile
lockFile
"""


def test_engine_gets_exactly_its_keys() -> None:
    assert sorted(StoreConfig().engine_options()) == sorted(ENGINE_KEYS.split())


def test_engine_options_are_plain_values() -> None:
    options = StoreConfig.load({"flushDiskType": "SYNC_FLUSH", "enableLmq": "true"}).engine_options()
    assert {type(value) for value in options.values()} == {int, bool, str, list}
    assert options["messageDelayLevel"] == StoreConfig().delays_ms()
    assert (options["flushDiskType"], options["enableLmq"]) == ("SYNC_FLUSH", True)


@pytest.mark.shows("CF-06")
def test_sizes_are_rocketmqs_by_default() -> None:
    config = StoreConfig()
    assert config.mappedFileSizeCommitLog == 1 << 30
    assert config.mappedFileSizeConsumeQueue == 300_000 * 20
    assert (config.maxHashSlotNum, config.maxIndexNum) == (5_000_000, 20_000_000)
    assert config.maxMessageSize == 4_194_304


@pytest.mark.shows("CF-08", "CF-09", "CF-10", "CF-15")
def test_flush_clean_and_memory_defaults_are_rocketmqs() -> None:
    config = StoreConfig()
    assert (config.flushDiskType, config.syncFlushTimeout) == ("ASYNC_FLUSH", 5000)
    assert (config.flushIntervalCommitLog, config.commitIntervalCommitLog) == (500, 200)
    assert (config.commitCommitLogThoroughInterval, config.flushCommitLogLeastPages) == (200, 4)
    assert (config.deleteWhen, config.fileReservedTime, config.cleanResourceInterval) == ("04", 72, 10_000)
    assert (config.diskSpaceWarningLevelRatio, config.diskSpaceCleanForciblyRatio) == (90, 85)
    assert (config.transientStorePoolEnable, config.transientStorePoolSize) == (False, 5)
    assert config.osPageCacheBusyTimeOutMills == 1000
    assert config.messageIndexEnable
    assert config.checkCRCOnRecover


@pytest.mark.shows("CF-07")
def test_small_sizes_for_tests_are_taken() -> None:
    config = StoreConfig.load(
        {
            "mapedFileSizeCommitLog": 10 << 20,
            "mapedFileSizeConsumeQueue": 10 << 20,
            "maxHashSlotNum": 10_000,
            "maxIndexNum": 10_000,
            "flushDiskType": "SYNC_FLUSH",
            "flushIntervalConsumeQueue": 1,
        }
    )
    assert config.mappedFileSizeConsumeQueue == 10 << 20


@pytest.mark.shows("CF-17")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mapedFileSizeCommitLog", "mappedFileSizeCommitLog"),
        ("mapedFileSizeConsumeQueue", "mappedFileSizeConsumeQueue"),
        ("mapedFileSizeConsumeQueueExt", "mappedFileSizeConsumeQueueExt"),
        ("flushLeastPagesWhenWarmMapedFile", "flushLeastPagesWhenWarmMappedFile"),
        ("destroyMapedFileIntervalForcibly", "destroyMappedFileIntervalForcibly"),
    ],
)
def test_both_spellings_of_mapped_mean_the_same_key(old: str, new: str) -> None:
    assert StoreConfig.load({old: "2040"}) == StoreConfig.load({new: "2040"}) != StoreConfig()


def test_both_spellings_with_different_values_are_refused() -> None:
    with pytest.raises(ConfigError, match="given twice"):
        StoreConfig.load({"mapedFileSizeCommitLog": "2048", "mappedFileSizeCommitLog": "4096"})


@pytest.mark.shows("CF-02")
def test_paths_follow_from_the_root_unless_given(tmp_path: Path) -> None:
    config = StoreConfig(storePathRootDir=str(tmp_path), storePathIndex="/elsewhere/index")
    options = config.engine_options()
    assert options["storePathCommitLog"] == str(tmp_path / "commitlog")
    assert options["storePathConsumeQueue"] == str(tmp_path / "consumequeue")
    assert options["storeCheckpoint"] == str(tmp_path / "checkpoint")
    assert options["abortFile"] == str(tmp_path / "abort")
    assert options["storePathIndex"] == "/elsewhere/index"


@pytest.mark.shows("CF-02")
def test_root_is_store_in_the_home_directory_by_default() -> None:
    assert StoreConfig().paths()["storePathCommitLog"] == Path.home() / "store" / "commitlog"


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("mappedFileSizeCommitLog", "abc", "mappedFileSizeCommitLog must be a whole number, not 'abc'"),
        ("mappedFileSizeCommitLog", 1.5, "mappedFileSizeCommitLog must be a whole number, not 1.5"),
        ("mappedFileSizeCommitLog", True, "mappedFileSizeCommitLog must be a whole number, not True"),
        ("mappedFileSizeCommitLog", "0", "mappedFileSizeCommitLog must be at least 1024, not 0"),
        ("mappedFileSizeCommitLog", 1 << 31, "mappedFileSizeCommitLog must be at most 2147483647"),
        ("enableLmq", "yes", "enableLmq must be true or false, not 'yes'"),
        ("flushDiskType", "SOMETIMES", "flushDiskType must be one of ASYNC_FLUSH, SYNC_FLUSH"),
        ("brokerRole", "MASTER", "brokerRole must be one of ASYNC_MASTER, SYNC_MASTER, SLAVE"),
        ("deleteWhen", "24", "deleteWhen must be hours"),
        ("deleteWhen", "", "deleteWhen must be hours"),
        ("messageDelayLevel", "1s 5x", "messageDelayLevel must list delays"),
        ("messageDelayLevel", "1s 0s", "messageDelayLevel must list delays like 10s, 5m, 2h or 1d, not '0s'"),
        ("storeHost", "localhost", "storeHost must be address:port"),
        ("storePathIndex", 5, "storePathIndex must be text"),
        ("storePathCommitLog", "/a,/b", "must be one directory"),
    ],
)
def test_a_value_that_cannot_work_is_refused_by_name(key: str, value: object, text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        StoreConfig.load({key: value})
    assert text in str(refused.value)


@pytest.mark.parametrize(
    ("key", "given", "effective"),
    [
        ("diskSpaceWarningLevelRatio", 99, 90),
        ("diskSpaceWarningLevelRatio", 10, 35),
        ("diskSpaceCleanForciblyRatio", 99, 85),
        ("diskSpaceCleanForciblyRatio", 1, 30),
        ("diskMaxUsedSpaceRatio", 99, 95),
        ("diskMaxUsedSpaceRatio", 1, 10),
        ("mappedFileSizeConsumeQueue", 41, 60),
    ],
)
def test_a_value_is_moved_into_range_where_rocketmq_does_that(key: str, given: int, effective: int) -> None:
    assert getattr(StoreConfig.load({key: given}), key) == effective


def test_an_unknown_key_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError, match=r"unknown setting 'flushDiskTyp'; did you mean 'flushDiskType'\?"):
        StoreConfig.load({"flushDiskTyp": "SYNC_FLUSH"})


def test_a_key_of_another_part_is_said_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setting, "_said", set())
    with caplog.at_level(logging.INFO, "tailfin.config"):
        StoreConfig.load({"brokerName": "broker-a", "haListenPort": "10912"})
        StoreConfig.load({"brokerName": "broker-a"})
    assert [record.getMessage() for record in caplog.records] == [
        "accepted, but without effect in this part: brokerName, haListenPort"
    ]


def test_no_key_is_both_acted_on_and_idle() -> None:
    assert not KNOWN & set(StoreConfig.keys())


def test_every_setting_has_a_line_of_help() -> None:
    assert all(each.metadata["rule"].help.endswith(".") for each in StoreConfig.__dataclass_fields__.values())


@pytest.mark.shows("CF-01")
def test_the_sample_broker_conf_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text(
        "brokerClusterName = DefaultCluster\nbrokerName = broker-a\nbrokerId = 0\n"
        "namesrvAddr=127.0.0.1:9876\ndeleteWhen = 04\nfileReservedTime = 48\nbrokerRole = ASYNC_MASTER\n"
        "flushDiskType = ASYNC_FLUSH\nautoCreateTopicEnable=true\n"
    )
    assert StoreConfig.load(file).fileReservedTime == 48


def test_keywords_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    file.write_text("fileReservedTime=48\ndeleteWhen=05\n")
    config = StoreConfig.load(file, fileReservedTime=24)
    assert (config.fileReservedTime, config.deleteWhen) == (24, "05")


def test_a_key_given_again_with_its_default_wins_over_the_earlier_value() -> None:
    assert StoreConfig(fileReservedTime=48).changed(fileReservedTime=72).fileReservedTime == 72
