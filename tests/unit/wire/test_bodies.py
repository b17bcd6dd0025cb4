"""Bodies as Java writes them, read and written again; and broken ones."""

import zlib

import pytest

from tailfin.wire import registration
from tailfin.wire.bodies.clients import (
    BatchAckMessageRequestBody,
    HeartbeatData,
    LockBatchRequestBody,
    LockBatchResponseBody,
    ResetOffsetBody,
)
from tailfin.wire.bodies.common import DataVersion, KVTable, MessageQueue
from tailfin.wire.bodies.groups import ConsumerOffsetSerializeWrapper, SubscriptionGroupConfig
from tailfin.wire.bodies.ha import HARuntimeInfo
from tailfin.wire.bodies.routes import BrokerData, ClusterInfo, TopicRouteData
from tailfin.wire.bodies.stats import ConsumerRunningInfo, ConsumeStats, TopicStatsTable
from tailfin.wire.bodies.topics import (
    RegisterBrokerBody,
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
    TopicQueueMappingDetail,
    TopicQueueMappingInfo,
)
from tailfin.wire.body import Body
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError

MQ = '{"brokerName":"broker-a","queueId":0,"topic":"T"}'
ROUTE = (
    '{"brokerDatas":[{"brokerAddrs":{0:"10.0.0.1:10911",1:"10.0.0.2:10911"},"brokerName":"broker-a",'
    '"cluster":"DefaultCluster","enableActingMaster":false,"zoneName":"z1"}],"filterServerTable":{},'
    '"orderTopicConf":"broker-a:4;broker-b:4","queueDatas":[{"brokerName":"broker-a","perm":6,"readQueueNums":8,'
    '"topicSysFlag":0,"writeQueueNums":8}]}'
)
GROUP = (
    '{"attributes":{},"brokerId":0,"consumeBroadcastEnable":true,"consumeEnable":true,"consumeFromMinEnable":true,'
    '"consumeMessageOrderly":false,"consumeTimeoutMinute":15,"groupName":"CG","groupRetryPolicy":{"type":'
    '"CUSTOMIZED"},"groupSysFlag":0,"notifyConsumerIdsChangedEnable":true,"retryMaxTimes":16,"retryQueueNums":1,'
    '"subscriptionDataSet":[{"expression":"*","expressionType":"TAG","topic":"T","version":1}],'
    '"whichBrokerWhenConsumeSlowly":1}'
)
HEARTBEAT = (
    '{"clientID":"10.0.0.9@1234#99","consumerDataSet":[{"consumeFromWhere":"CONSUME_FROM_LAST_OFFSET",'
    '"consumeType":"CONSUME_PASSIVELY","groupName":"CG","messageModel":"CLUSTERING","subscriptionDataSet":['
    '{"classFilterMode":false,"codeSet":[65],"expressionType":"TAG","subString":"A","subVersion":1700000000000,'
    '"tagsSet":["A"],"topic":"T"}],"unitMode":false}],"heartbeatFingerprint":0,'
    '"producerDataSet":[{"groupName":"PG"}],"withoutSub":false}'
)
TOPIC = (
    '{"attributes":{"message.type":"NORMAL"},"order":false,"perm":6,"readQueueNums":8,'
    '"topicFilterType":"SINGLE_TAG","topicName":"T","topicSysFlag":0,"writeQueueNums":8}'
)
AS_JAVA_WRITES = [
    (TopicRouteData, ROUTE),
    (
        ClusterInfo,
        '{"brokerAddrTable":{"broker-a":{"brokerAddrs":{0:"a:1"},"brokerName":"broker-a","cluster":"C",'
        '"enableActingMaster":false}},"clusterAddrTable":{"C":["broker-a"]}}',
    ),
    (DataVersion, '{"counter":5,"stateVersion":0,"timestamp":1700000000000}'),
    (KVTable, '{"table":{"k":"v"}}'),
    (TopicConfig, TOPIC),
    (HeartbeatData, HEARTBEAT),
    (SubscriptionGroupConfig, GROUP),
    (LockBatchRequestBody, f'{{"clientId":"c","consumerGroup":"CG","mqSet":[{MQ}],"onlyThisBroker":false}}'),
    (LockBatchResponseBody, f'{{"lockOKMQSet":[{MQ}]}}'),
    (ResetOffsetBody, f'{{"offsetTable":{{{MQ}:100}}}}'),
    (
        ConsumeStats,
        f'{{"consumeTps":1.5,"offsetTable":{{{MQ}:{{"brokerOffset":10,"consumerOffset":8,"lastTimestamp":17,'
        '"pullOffset":9}}}',
    ),
    (
        TopicStatsTable,
        f'{{"offsetTable":{{{MQ}:{{"lastUpdateTimestamp":17,"maxOffset":10,"minOffset":0}}}},"topicPutTps":0.0}}',
    ),
    (
        BatchAckMessageRequestBody,
        '{"acks":[{"b":"AQI=","c":"G","it":4,"pt":3,"q":1,"r":"0","rq":2,"so":10,"t":"T"}],"brokerName":"b"}',
    ),
    (
        ConsumerOffsetSerializeWrapper,
        '{"dataVersion":{"counter":1,"stateVersion":0,"timestamp":2},"offsetTable":{"T@G":{0:10,1:20}}}',
    ),
    (
        TopicQueueMappingDetail,
        '{"bname":"b","currIdMap":{0:0,1:1},"dirty":false,"epoch":17,"hostedQueues":{0:[{"bname":"b","endOffset":-1,'
        '"gen":0,"logicOffset":0,"queueId":0,"startOffset":0,"timeOfEnd":-1,"timeOfStart":-1}]},'
        '"scope":"__global__","topic":"T","totalQueues":8}',
    ),
    (
        HARuntimeInfo,
        '{"haConnectionInfo":[{"addr":"ip:1","diff":0,"inSync":true,"slaveAckOffset":0,"transferFromWhere":0,'
        '"transferredByteInSecond":0}],"inSyncSlaveNums":1,"master":true,"masterCommitLogMaxOffset":0}',
    ),
]


@pytest.mark.parametrize(("cls", "text"), AS_JAVA_WRITES, ids=lambda each: getattr(each, "__name__", ""))
def test_a_body_reads_and_writes_java_text(cls: type[Body], text: str) -> None:
    assert cls.from_json(text).to_json().decode() == text


def test_routes_for_standard_readers_quote_their_keys() -> None:
    standard = TopicRouteData.from_json(ROUTE).to_json(standard=True)
    assert b'"brokerAddrs":{"0":"10.0.0.1:10911","1":"10.0.0.2:10911"}' in standard
    assert TopicRouteData.from_json(standard) == TopicRouteData.from_json(ROUTE)


def test_a_body_is_read_as_leniently_as_java_reads() -> None:
    broker = BrokerData.from_json(
        '{"brokerAddrs":{"0":"x"},"brokerName":"b","cluster":null,"enableActingMaster":"true","new":1}'
    )
    assert broker == BrokerData(broker_name="b", broker_addrs={0: "x"}, enable_acting_master=True)
    heartbeat = HeartbeatData.from_json(
        '{"clientID":5,"consumerDataSet":[{"groupName":"G","messageModel":1,"consumeType":"CONSUME_POP"}]}'
    )
    assert heartbeat.client_id == "5"
    assert heartbeat.consumer_data_set[0].message_model == "CLUSTERING"
    assert ConsumerRunningInfo.from_json("{}").mq_table == {}
    assert DataVersion.from_json('{"counter":"12"}').counter == 12


@pytest.mark.parametrize(
    ("cls", "text", "reason"),
    [
        (ConsumeStats, '{"offsetTable":{"{}":{}}}', "offsetTable: an object expected as key"),
        (HeartbeatData, "[]", "an object expected, not list"),
        (HeartbeatData, '{"consumerDataSet":7}', "consumerDataSet: an array expected, not 7"),
        (HeartbeatData, '{"consumerDataSet":[{}]}', "consumerDataSet: groupName is missing"),
        (HeartbeatData, '{"consumerDataSet":[{"groupName":"g","messageModel":"X"}]}', "one of BROADCASTING"),
        (TopicConfig, '{"perm":"all"}', "perm: a whole number of 64 bits expected, not 'all'"),
        (TopicConfig, '{"perm":1e400}', "perm: a whole number"),
        (TopicConfig, '{"perm":9223372036854775808}', "perm: a whole number"),
        (TopicConfig, '{"order":"maybe"}', "order: true or false"),
        (ResetOffsetBody, '{"offsetTable":{{"queueId":0}:1}}', "brokerName is missing"),
        (BatchAckMessageRequestBody, '{"acks":[{"b":"€"}]}', "b: Base64"),
        (TopicConfig, "{", "at character 1"),
        (HeartbeatData, r'{"clientID":"\ud800"}', r"clientID: half a character in '\\ud800'"),
        (TopicConfig, r'{"attributes":{"\udfff":"x"}}', "attributes: half a character"),
    ],
)
def test_a_broken_body_is_refused_with_the_place(cls: type[Body], text: str, reason: str) -> None:
    with pytest.raises(RemotingError, match=reason) as caught:
        cls.from_json(text)
    assert caught.value.code is ResponseCode.SYSTEM_ERROR
    assert cls.__name__ in caught.value.remark


PUBLISHED = bytes.fromhex(
    "78da636060b0a8564ace2fcd2b492d52b232d0512a2e492c490d4b2d2acecccf030b9464e6a60205730b94ac0ccd0d10a096818181"
    "11884543142c80d04c21d8d3cfddc7353ec4d15da11a24c9141d0b2419004f1c1815"
)


def registered() -> RegisterBrokerBody:
    return RegisterBrokerBody(
        topic_config_serialize_wrapper=TopicConfigAndMappingSerializeWrapper(
            data_version=DataVersion(timestamp=1700000000000),
            topic_config_table={"T": TopicConfig(topic_name="T", read_queue_nums=8, write_queue_nums=8)},
        )
    )


def test_the_published_compressed_registration_is_read() -> None:
    assert registration.inflate(PUBLISHED, 479) == registered()


def test_a_compressed_registration_reads_back_with_attributes_and_mappings() -> None:
    body = RegisterBrokerBody(
        topic_config_serialize_wrapper=TopicConfigAndMappingSerializeWrapper(
            data_version=DataVersion(counter=3, timestamp=5),
            topic_config_table={
                "T": TopicConfig(topic_name="T", attributes={"+message.type": "x"}),
                "U": TopicConfig(topic_name="U", perm=2),
            },
            topic_queue_mapping_info_map={"T": TopicQueueMappingInfo(topic="T", curr_id_map={0: 1})},
        ),
        filter_server_list=["f:1"],
    )
    data = registration.deflate(body)
    assert registration.inflate(data, 479) == body
    assert registration.inflate(data, 300).topic_config_serialize_wrapper.topic_queue_mapping_info_map == {}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"junk",
        PUBLISHED[:-20],
        zlib.compress(b"\0\0\0\x7f"),
        zlib.compress(b"\0"),
    ],
)
def test_a_broken_compressed_registration_is_refused(data: bytes) -> None:
    with pytest.raises(RemotingError, match="no compressed RegisterBrokerBody"):
        registration.inflate(data, 479)


def test_a_registration_that_inflates_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registration, "INFLATED_BYTES_MAX", 1000)
    with pytest.raises(RemotingError, match="more than 1000 bytes"):
        registration.inflate(zlib.compress(bytes(100_000)), 479)


def test_message_queues_can_be_keys() -> None:
    queue = MessageQueue(topic="T", broker_name="b", queue_id=1)
    assert {queue: 1}[MessageQueue(topic="T", broker_name="b", queue_id=1)] == 1
