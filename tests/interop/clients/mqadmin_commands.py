"""Every sub-command of the official mqadmin: how it is tried, and what it must print.

A trial's words and expectations know the world they run in: `<n>` nameserver, `<c>` cluster, `<b>` and `<bn>`
a broker's address and name, `<t>` `<g>` `<p>` a live topic, its consumer and producer groups, `<client>` the
consumer, `<id>` `<uid>` `<queue>` `<offset>` one of the messages, `<tmp>` a folder. In an expectation a space
stands for any run of blanks, `*` for anything within the line. Trials of one stage run at once.
"""

import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Trial:
    """One call of a command."""

    line: str
    says: tuple[str, ...]
    until: str = ""
    keeps: dict[str, str] = field(default_factory=dict)
    """Names for what later trials want of the output, by pattern."""
    complains: bool = False
    """Whether the tool prints a stack trace on its way to success."""

    @property
    def command(self) -> str:
        return self.line.split()[0]


def trial(
    line: str, *says: str, until: str = "", keeps: dict[str, str] | None = None, complains: bool = False
) -> Trial:
    return Trial(line, says, until, keeps or {}, complains)


def filled(text: str, world: dict[str, str]) -> str:
    """Put the world's names into a line."""
    return re.sub(r"<(\w+)>", lambda match: world.get(match[1], match[0]), text)


def unmet(trial: Trial, printed: str, world: dict[str, str]) -> list[str]:
    """Return the expectations that an output does not meet."""
    missing = [says for says in trial.says if not re.search(_pattern(says, world), printed, re.MULTILINE)]
    if re.search(r"^[\w.]+\.\w*Exception", printed, re.MULTILINE) and not trial.complains:
        missing.insert(0, "no exception")
    return missing


def _pattern(says: str, world: dict[str, str]) -> str:
    pattern = re.escape(filled(says, world))
    return pattern.replace(r"\*", ".*").replace(r"\ ", r"[ \t]+")


SEEN_MESSAGE = (
    *("Topic: <t>", "Tags: [B]", "Keys: [key-7]", "Queue ID: <queue>", "Queue Offset: <offset>"),
    *("Reconsume Times: 0", "Born Timestamp: 20*", "Store Host: <b>", "Properties: {*UNIQ_KEY=<uid>*}"),
)

DIRECTLY = "ConsumeMessageDirectlyResult [*consumeResult=CR_SUCCESS*"

MAKE = (
    trial(
        "updateTopic -n <n> -c <c> -t Made -r 4 -w 3 -p 6",
        "create topic to <b> success",
        "TopicConfig [topicName=Made, readQueueNums=4, writeQueueNums=3, perm=RW-*order=false",
    ),
    trial(
        "updateTopic -n <n> -b <b> -t MadeOrdered -r 2 -w 2 -o true -a +message.type=NORMAL",
        "create topic to <b> success",
        "set broker orderConf. isOrder=true, orderConf=[<bn>:2]",
        complains=True,  # about an order of queues that nobody set before
    ),
    trial("updateTopic -n <n> -c <c> -t Doomed", "readQueueNums=8, writeQueueNums=8"),
    trial("updateTopic -n <n> -c <c> -t %DLQ%MadeGroup -r 1 -w 1 -p 6", "topicName=%DLQ%MadeGroup"),
    trial(
        "updateTopicList -n <n> -b <b> -f <tmp>/topics.json", "submit batch of topic config to <b> success"
    ),
    trial(
        "updateSubGroup -n <n> -c <c> -g MadeGroup -r 5 -q 2",
        "create subscription group to <b> success",
        "SubscriptionGroupConfig{groupName=MadeGroup*retryQueueNums=2, retryMaxTimes=5",
    ),
    trial("updateSubGroup -n <n> -b <b> -g Doomed", "create subscription group to <b> success"),
    trial("updateSubGroup -n <n> -b <b> -g Cloned", "create subscription group to <b> success"),
    trial(
        "updateSubGroupList -n <n> -b <b> -f <tmp>/groups.json", "submit batch of group config to <b> success"
    ),
    trial(
        "updateBrokerConfig -n <n> -b <b> -k flushIntervalCommitLog -v 700",
        "update broker config success, <b>",
    ),
    trial(
        "updateNamesrvConfig -n <n> -k scanNotActiveBrokerInterval -v 6000",
        "update name server config success*<n>",
        "scanNotActiveBrokerInterval : 6000",
    ),
    trial(
        "updateKvConfig -n <n> -s Space -k word -v value", "create or update kv config to namespace success"
    ),
    trial(
        "updateOrderConf -n <n> -m put -t Made -v <bn>:4",
        "orderConf success. topic=[Made], orderConf=[<bn>:4]",
    ),
)

SEND = (
    trial(
        "sendMessage -n <n> -t Made -p hello-mqadmin -k admin-key -c TagA -b <bn> -i 2",
        "#Broker Name #QID #Send Result #MsgId",
        "<bn> 2 SEND_OK *",
    ),
    trial(
        "sendMessage -n <n> -t %DLQ%MadeGroup -p given-up -k dead-key",
        "<bn> 0 SEND_OK *",
        keeps={"dead": r"SEND_OK\s+(\w{32})"},
    ),
    trial(
        "sendMessage -n <n> -t Made -p traced -k traced -m true",
        "<bn> * SEND_OK *",
        keeps={"traced": r"SEND_OK\s+(\w{32})"},
    ),
    trial(
        "checkMsgSendRT -n <n> -t Made -a 5 -s 64",
        "#Broker Name #QID #Send Result #RT",
        "<bn> 0 true *",
        "<bn> 1 true *",
        "Avg RT: *",
    ),
    trial("sendMsgStatus -n <n> -b <bn> -s 64 -c 5", "rt=*ms, SendResult=SendResult [sendStatus=SEND_OK*"),
    trial(
        "clusterRT -n <n> -a 3 -s 64 -i 1",
        "#Cluster Name #Broker Name #RT #successCount #failCount",
        "<c> <bn> * 3 0",
        until="DefaultCluster ",
    ),
)

LOOK = (
    trial(
        "topicList -n <n>",
        "<t>",
        "Made",
        "MadeOrdered",
        "Listed",
        "%RETRY%<g>",
        "SCHEDULE_TOPIC_XXXX",
        "TBW102",
    ),
    trial("topicList -n <n> -c", "#Cluster Name #Topic #Consumer Group", "<c> <t> <g>", "<c> Made"),
    trial(
        "topicRoute -n <n> -t Made",
        '"brokerAddrs":{',
        '0:"<b>"',
        '"cluster":"<c>"',
        '"perm":6',
        '"readQueueNums":4',
        '"writeQueueNums":3',
    ),
    trial(
        "topicRoute -n <n> -t Made -l",
        "#ClusterName #BrokerName #BrokerAddrs #ReadQueue #WriteQueue #Perm",
        "<c> <bn> {0=<b>} 4 3 6",
    ),
    trial("topicClusterList -n <n> -t Made", "<c>"),
    trial(
        "topicStatus -n <n> -t <t>",
        "#Broker Name #QID #Min Offset #Max Offset #Last Updated",
        *(f"<bn> {queue} 0 10 20*-*-* *:*:*,*" for queue in range(4)),
        "Topic Put TPS: *",
    ),
    trial("allocateMQ -n <n> -t Made -i 10.0.0.1,10.0.0.2", '{"result":{*"10.0.0.1":[*"topic":"Made"*'),
    trial("updateOrderConf -n <n> -m get -t Made", "get orderConf success. topic=[Made], orderConf=[<bn>:4]"),
    trial(
        "getConsumerConfig -n <n> -g MadeGroup",
        "*<c>:<bn>*",
        "groupName = MadeGroup",
        "retryQueueNums = 2",
        "retryMaxTimes = 5",
        "consumeEnable = true",
    ),
    trial(
        "brokerStatus -n <n> -b <b>",
        "brokerVersionDesc : V*",
        "msgPutTotalTodayNow : *",
        "putTps : *",
        "commitLogMaxOffset : *",
        "sendThreadPoolQueueSize : 0",
        "runtime : [ 0 days, *",
    ),
    trial("brokerStatus -n <n> -c <c>", "<b> bootTimestamp : *"),
    trial(
        "getBrokerConfig -n <n> -b <b>",
        "*=<b>=*",
        "brokerName = <bn>",
        "flushIntervalCommitLog = 700",
        "defaultTopicQueueNums = 8",
    ),
    trial("getBrokerConfig -n <n> -c <c>", "*=Master: <b>=*", "brokerClusterName = <c>"),
    trial(
        "brokerConsumeStats -n <n> -b <b>",
        "#Topic #Group #Broker Name #QID #Broker Offset #Consumer Offset #Diff #LastTime",
        *(f"<t> <g> <bn> {queue} 10 10 0 20*" for queue in range(4)),
        "Diff Total: 0",
    ),
    trial("getNamesrvConfig -n <n>", "*=<n>=*", "scanNotActiveBrokerInterval = 6000", "listenPort = *"),
    trial("producer -n <n> -b <b>", "producer group (<p>) instance : clientId=*, language=JAVA, version=*"),
    trial("producerConnection -n <n> -g <p> -t <t>", "0001 * 127.0.0.1:* JAVA V5_5_0"),
    trial(
        "consumerConnection -n <n> -g <g>",
        "#ClientId #ClientAddr #Language #Version",
        "<client> 127.0.0.1:* JAVA V5_5_0",
        "<t> *",
        "ConsumeType: CONSUME_PASSIVELY",
        "MessageModel: CLUSTERING",
        "ConsumeFromWhere: CONSUME_FROM_FIRST_OFFSET",
    ),
    trial(
        "consumerProgress -n <n> -g <g>",
        "#Topic #Broker Name #QID #Broker Offset #Consumer Offset #Diff #Inflight #LastTime",
        *(f"<t> <bn> {queue} 10 10 0 0 20*" for queue in range(4)),
        "Consume TPS: *",
        "Consume Diff Total: 0",
    ),
    trial("consumerProgress -n <n> -g <g> -s true", "#Client IP", "<t> <bn> 0 10 10 * 0 0 20*"),
    trial(
        "consumerProgress -n <n>",
        "#Group #Count #Version #Type #Model #TPS #Diff Total",
        "<g> 1 V5_5_0 PUSH CLUSTERING * 0",
    ),
    trial(
        "consumerStatus -n <n> -g <g>",
        "#Index #ClientId #Version #ConsumerRunningInfoFile",
        "1 <client> V5_5_0 */<client>",
        "Same subscription in the same group of consumer",
        "Rebalance OK",
    ),
    trial("consumerStatus -n <n> -g <g> -i <client> -s", "#Consumer jstack#", "*ConsumeMessageThread*"),
    trial(
        "consumerStatus -n <n> -g <g> -i <client>",
        "#Consumer Properties#",
        "PROP_CONSUME_TYPE : CONSUME_PASSIVELY",
    ),
    trial(
        "clusterList -n <n>",
        "#Cluster Name #Broker Name #BID #Addr #Version #InTPS(LOAD) #OutTPS(LOAD) #Timer(Progress) *",
        "<c> <bn> 0 <b> V5_* *(0,0ms) *(0,0ms|*) *",
    ),
    trial(
        "clusterList -n <n> -m",
        "#Cluster Name #Broker Name #InTotalYest #OutTotalYest #InTotalToday #OutTotalToday",
        "<c> <bn> 0 0 * *",
    ),
    trial("statsAll -n <n>", "#Topic #Consumer Group #Accumulation #InTPS #OutTPS *", "<t> <g> 0 * * 40 40"),
    trial("haStatus -n <n> -b <b>", "#MasterAddr <b>", "#SlaveNum 0", "#SlaveAddr #SlaveAckOffset #Diff *"),
)

READ = (
    trial("consumeMessage -n <n> -t Made", "Consume ok", "MSGID: * MessageExt [*queueId=2*KEYS=admin-key*"),
    trial(
        "consumeMessage -n <n> -t Made -b <bn> -i 2 -o 0 -c 1",
        "Consume ok",
        "MSGID: * MessageExt [*queueOffset=0*",
    ),
    trial(
        "printMsg -n <n> -t Made -d true",
        "minOffset=0, maxOffset=*, MessageQueue [topic=Made, brokerName=<bn>, queueId=2]",
        "MSGID: * MessageExt [*KEYS=admin-key* BODY: hello-mqadmin",
    ),
    trial(
        "printMsgByQueue -n <n> -t Made -a <bn> -i 2 -p true -d true -f true",
        "MSGID: * BODY: hello-mqadmin",
        "Tag: TagA Count: 1",
    ),
    trial(
        "queryMsgById -n <n> -t <t> -i <id>", "OffsetID: <id>", *SEEN_MESSAGE, "Message Body Path: */<uid>"
    ),
    trial("queryMsgByKey -n <n> -t <t> -k key-7", "#Message ID #QID #Offset *", "<uid> <queue> <offset> *"),
    trial("queryMsgByKey -n <n> -t <t> -k key-7 -b 0 -e 9000000000000 -m 1 -p K", "<uid> <queue> <offset> *"),
    trial("queryMsgByKey -n <n> -t <t> -k B -p T -m 64", "<uid> <queue> <offset> *"),
    trial("queryMsgByKey -n <n> -t %DLQ%MadeGroup -k dead-key", "* 0 0 *"),
    trial("queryMsgByUniqueKey -n <n> -t <t> -i <uid>", *SEEN_MESSAGE),
    trial("queryMsgByUniqueKey -n <n> -t <t> -i <uid> -g <g> -d <client>", DIRECTLY),
    trial(
        "queryMsgByUniqueKey -n <n> -t %DLQ%MadeGroup -i <dead>", "Topic: %DLQ%MadeGroup", "Keys: [dead-key]"
    ),
    trial("queryMsgById -n <n> -t <t> -i <id> -g <g> -d <client>", DIRECTLY),
    trial(
        "queryMsgByOffset -n <n> -t <t> -b <bn> -i <queue> -o <offset>",
        "OffsetID: <id>",
        *(says for says in SEEN_MESSAGE if "UNIQ_KEY" not in says),
    ),
    trial("queryMsgTraceById -n <n> -i <traced>", "#Type #ProducerGroup #ClientHost *", "Pub * success"),
    trial("queryMsgTraceById -n <n> -i <traced> -t RMQ_SYS_TRACE_TOPIC -b 0 -c 8", "Pub * success"),
    trial(
        "consumeMessage -n <n> -t %DLQ%MadeGroup",
        "Consume ok",
        "MSGID: * MessageExt [*queueId=0*KEYS=dead-key*",
    ),
    trial(
        "printMsg -n <n> -t %DLQ%MadeGroup -d true",
        "MSGID: * MessageExt [*KEYS=dead-key* BODY: given-up",
    ),
    trial(
        "queryCq -n <n> -t <t> -q <queue> -i 0 -c 3 -b <b> -g <g>",
        "Subscription data:",
        '"topic":"<t>"',
        "max: 10, min: 0",
        "idx: 0",
        "idx: 2",
    ),
    trial("exportMetadata -n <n> -c <c> -f <tmp>/export", "export <tmp>/export/metadata.json success"),
    trial("exportMetadata -n <n> -b <b> -t -f <tmp>/export", "export <tmp>/export/topic.json success"),
    trial(
        "exportMetadata -n <n> -b <b> -g -f <tmp>/export",
        "export <tmp>/export/subscriptionGroup.json success",
    ),
    trial("exportConfigs -n <n> -c <c> -f <tmp>/export", "export <tmp>/export/configs.json success"),
    trial("exportMetrics -n <n> -c <c> -f <tmp>/export", "export <tmp>/export/metrics.json success"),
    trial(
        "cloneGroupOffset -n <n> -s <g> -d Cloned -t <t>",
        "clone group offset success*srcGroup[<g>], destGroup=[Cloned]*",
    ),
)

FORBID = (trial("wipeWritePerm -n <n> -b <bn>", "wipe write perm of broker[<bn>] in name server[<n>] OK, *"),)
SEE_FORBIDDEN = (trial("topicRoute -n <n> -t <t>", '"perm":4'),)
PERMIT = (trial("addWritePerm -n <n> -b <bn>", "add write perm of broker[<bn>] in name server[<n>] OK, *"),)
"""One by one and before any change: a broker that registers changed topics has its permission back."""

CHANGE = (
    trial("updateTopicPerm -n <n> -c <c> -t Made -p 4", "update topic perm from 6 to 4 in <b> success"),
    trial(
        "updateTopicPerm -n <n> -b <b> -t MadeOrdered -p 2", "update topic perm from 6 to 2 in <b> success"
    ),
    trial(
        "deleteTopic -n <n> -c <c> -t Doomed",
        "delete topic [Doomed] from cluster [<c>] success",
        "from NameServer success",
    ),
    trial(
        "deleteSubGroup -n <n> -c <c> -g Doomed -r true",
        "delete subscription group [Doomed] from broker [<b>] *success",
    ),
    trial("setConsumeMode -n <n> -c <c> -t Made -g MadeGroup -m PULL", "set consume mode to <b> success"),
    trial("updateOrderConf -n <n> -m delete -t Made", "delete orderConf success. topic=[Made]"),
    trial("deleteKvConfig -n <n> -s Space -k word", "delete kv config from namespace success"),
    trial(
        "updateBrokerConfig -n <n> -c <c> -k flushIntervalCommitLog -v 800",
        "update broker config success, <b>",
    ),
    trial("cleanExpiredCQ -n <n> -b <b>", "success"),
    trial("deleteExpiredCommitLog -n <n> -b <b>", "success"),
    trial("resetMasterFlushOffset -n <n> -b <b> -o 0", "reset master flush offset to 0 success"),
    trial("getColdDataFlowCtrInfo -n <n> -b <b>", "*=<b>=*", "*ColdReadThreshold*"),
    trial(
        "updateColdDataFlowCtrGroupConfig -n <n> -b <b> -g MadeGroup -v 1000",
        "updateColdDataFlowCtrGroupConfig success, <b>",
    ),
    trial(
        "removeColdDataFlowCtrGroupConfig -n <n> -b <b> -g MadeGroup",
        "remove broker cold read threshold success, <b>",
    ),
    trial("setCommitLogReadAheadMode -n <n> -b <b> -m 0", "set commitlog readahead mode success, mode: 0"),
    trial("switchTimerEngine -n <n> -b <b> -e F", "switchTimerEngine to FILE_TIME_WHEEL success, <b>"),
    trial(
        "skipAccumulatedMessage -n <n> -g Cloned -t <t> -f true",
        "#brokerName #queueId #*ffset*",
        *(f"<bn> {queue} * 10" for queue in range(4)),
        complains=True,  # about a group without members, before it takes the way for those
    ),
)

SEE_CHANGE = (
    trial("getBrokerConfig -n <n> -b <b>", "flushIntervalCommitLog = 800"),
    trial("cleanUnusedTopic -n <n> -b <b>", "success"),
    trial(
        "resetOffsetByTime -n <n> -g <g> -t <t> -s 0",
        "#brokerName #queueId #offset",
        *(f"<bn> {queue} 0" for queue in range(4)),
    ),
)

RESEND = (
    trial("queryMsgById -n <n> -t <t> -i <id> -s true", "prepare resend msg. originalMsgId=<id>*SEND_OK*"),
)
"""Last, since others count the messages of that topic."""

STAGES = (MAKE, SEND, LOOK, READ, FORBID, SEE_FORBIDDEN, PERMIT, CHANGE, SEE_CHANGE, RESEND)

NOT_APPLICABLE = {
    **dict.fromkeys(
        ("addBroker", "removeBroker"), "only for the container of several brokers in one process"
    ),
    **dict.fromkeys(
        (
            *("exportMetadataInRocksDB", "rocksDBConfigToJson", "checkRocksdbCqWriteProgress"),
            "exportPopRecord",
        ),
        "looks into RocksDB; Tailfin keeps RocketMQ's own files",
    ),
    "dumpCompactionLog": "decodes a local file of the Java broker",
    "startMonitoring": "an endless watch inside the tool, which prints nothing",
}

UNTRIED = {
    **dict.fromkeys(
        (
            *("getSyncStateSet", "getBrokerEpoch", "getControllerMetaData", "getControllerConfig"),
            *("updateControllerConfig", "electMaster", "cleanBrokerMetadata"),
        ),
        "needs a controller",
    ),
    **dict.fromkeys(
        (
            *("createUser", "updateUser", "deleteUser", "getUser", "listUser", "copyUser"),
            *("createAcl", "updateAcl", "deleteAcl", "getAcl", "listAcl", "copyAcl"),
        ),
        "needs authentication",
    ),
    **dict.fromkeys(("updateStaticTopic", "remappingStaticTopic"), "needs static topics"),
    **dict.fromkeys(
        (
            *("getBrokerLiteInfo", "getParentTopicInfo", "getLiteTopicInfo", "getLiteClientInfo"),
            *("getLiteGroupInfo", "triggerLiteDispatch"),
        ),
        "needs lite topics",
    ),
}
"""Commands of features that no test has a server for yet."""

OWED = frozenset(
    (
        *("updateTopic", "deleteTopic", "topicList", "topicRoute", "topicStatus", "topicClusterList"),
        *(
            "updateTopicPerm",
            "updateSubGroup",
            "deleteSubGroup",
            "getConsumerConfig",
            "clusterList",
            "brokerStatus",
        ),
        *(
            "brokerConsumeStats",
            "getBrokerConfig",
            "updateBrokerConfig",
            "consumerProgress",
            "consumerStatus",
        ),
        *(
            "consumerConnection",
            "producerConnection",
            "producer",
            "resetOffsetByTime",
            "skipAccumulatedMessage",
        ),
        *(
            "cloneGroupOffset",
            "statsAll",
            "clusterRT",
            "sendMessage",
            "consumeMessage",
            "printMsg",
            "queryMsgById",
        ),
        *("queryMsgByKey", "queryMsgByUniqueKey", "queryMsgTraceById"),
        *(
            "queryMsgByOffset",
            "queryCq",
            "wipeWritePerm",
            "addWritePerm",
            "getNamesrvConfig",
            "updateNamesrvConfig",
        ),
        *(
            "updateKvConfig",
            "deleteKvConfig",
            "cleanExpiredCQ",
            "cleanUnusedTopic",
            "allocateMQ",
            "checkMsgSendRT",
        ),
        "exportMetadata",
    )
)
"""Commands that a cluster cannot do without."""
