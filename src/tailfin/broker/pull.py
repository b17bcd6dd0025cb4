"""Pulls that the hot path leaves to Python: a group's first one, and those it cannot judge."""

from typing import TYPE_CHECKING

from tailfin.broker import filters
from tailfin.broker.hooks import ConsumeContext
from tailfin.remoting import Request, Response, handles
from tailfin.wire.bodies.clients import SubscriptionData
from tailfin.wire.bodies.groups import SubscriptionGroupConfig
from tailfin.wire.bodies.topics import Perm
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import FAQ, RemotingError
from tailfin.wire.headers.pull import PullMessageRequestHeader

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

SUBSCRIPTION_IN_REQUEST = 4
LITE_PULL = 16


class Forbidden(RemotingError):
    """NO_PERMISSION with RocketMQ's number of what forbids."""

    def __init__(self, kind: int, remark: str) -> None:
        """Keep the number for the reply's `forbiddenType`."""
        super().__init__(ResponseCode.NO_PERMISSION, remark)
        self.kind = kind


class Pulls:
    """Handlers of PULL_MESSAGE and LITE_PULL_MESSAGE."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    @handles(Code.PULL_MESSAGE, Code.LITE_PULL_MESSAGE)
    def pull(self, request: Request) -> Response | None:
        """Make the group if that is what was missing, or say what is wrong."""
        header = PullMessageRequestHeader.decode(request.fields)
        try:
            self._check_group(header, request)
            self._check_topic(header, request)
            if header.sys_flag & SUBSCRIPTION_IN_REQUEST:
                filters.check(self._broker.config, header.expression_type, header.subscription)
            else:
                self._check_subscription(header)
        except Forbidden as error:
            return Response(error.code, error.remark, fields={"forbiddenType": str(error.kind)})
        self._broker.hooks.before_consume(
            ConsumeContext(
                group=header.consumer_group,
                topic=header.topic,
                queue_id=header.queue_id,
                offset=header.queue_offset,
                client=request.peer,
            )
        )
        self._broker.rulebook.tell_light(header.topic, header.consumer_group)
        if self._broker.server.hand_back(request):
            return None
        raise RemotingError(
            ResponseCode.SYSTEM_ERROR,
            f"the pull of group {header.consumer_group} from topic {header.topic} cannot be served",
        )

    def _check_group(self, header: PullMessageRequestHeader, request: Request) -> SubscriptionGroupConfig:
        config = self._broker.config
        if not config.brokerPermission & Perm.READ:
            raise Forbidden(1, f"the broker[{config.brokerIP1}] pulling message is forbidden")
        lite = request.code == Code.LITE_PULL_MESSAGE or header.sys_flag & LITE_PULL
        if lite and not config.litePullMessageEnable:
            raise Forbidden(1, f"the broker[{config.brokerIP1}] for lite pull consumer is forbidden")
        group = self._broker.groups.find(header.consumer_group)
        if group is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
                f"subscription group [{header.consumer_group}] does not exist, {FAQ}",
            )
        if not group.consume_enable:
            raise Forbidden(2, f"subscription group no permission, {header.consumer_group}")
        return group

    def _check_topic(self, header: PullMessageRequestHeader, request: Request) -> None:
        topic = self._broker.topics.get(header.topic)
        if topic is None:
            raise RemotingError(
                ResponseCode.TOPIC_NOT_EXIST, f"topic[{header.topic}] not exist, apply first please!{FAQ}"
            )
        if not topic.perm & Perm.READ:
            raise Forbidden(3, f"the topic[{header.topic}] pulling message is forbidden")
        if not 0 <= header.queue_id < topic.read_queue_nums:
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER,
                f"queueId[{header.queue_id}] is illegal, topic:[{header.topic}] "
                f"topicConfig.readQueueNums:[{topic.read_queue_nums}] consumer:[{request.peer}]",
            )

    def _check_subscription(self, header: PullMessageRequestHeader) -> None:
        name, topic = header.consumer_group, header.topic
        group = self._broker.clients.consumer_group(name)
        if group is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_NOT_EXIST,
                f"the consumer's group info not exist: no heartbeat of a member of {name} has come yet{FAQ}",
            )
        config = self._broker.groups.get(name)
        if group.broadcast and config and not config.consume_broadcast_enable:
            raise Forbidden(4, f"the consumer group[{name}] can not consume by broadcast way")
        if not self._broker.groups.may_read(name, topic):
            raise Forbidden(5, f"the consumer group[{name}] is forbidden for topic[{topic}]")
        subscription = group.subscriptions.get(topic)
        if subscription is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_NOT_EXIST,
                f"the consumer's subscription not exist: no member of {name} subscribes to {topic}{FAQ}",
            )
        if subscription.sub_version < header.sub_version:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_NOT_LATEST,
                "the consumer's subscription not latest: send a heartbeat",
            )
        if not filters.is_tag(subscription.expression_type):
            self._check_filter(header, subscription)

    def _check_filter(self, header: PullMessageRequestHeader, subscription: SubscriptionData) -> None:
        kind, expression = subscription.expression_type, subscription.sub_string
        found = self._broker.filters.get(header.topic, header.consumer_group)
        if found is None:
            raise RemotingError(
                ResponseCode.FILTER_DATA_NOT_EXIST,
                "The broker's consumer filter data is not exist!Your expression may be wrong!"
                f"{_what_is_wrong(kind, expression)}",
            )
        if found.data.client_version < header.sub_version:
            raise RemotingError(
                ResponseCode.FILTER_DATA_NOT_LATEST,
                "the consumer's consumer filter data not latest: send a heartbeat",
            )
        filters.check_enabled(self._broker.config, kind)


def _what_is_wrong(kind: str | None, expression: str | None) -> str:
    try:
        filters.compiled(kind, expression)
    except RemotingError as error:
        return f" ({error.remark})"
    return ""
