"""Requests of clients and administrators: routes, lists, permissions, settings."""

from collections.abc import Callable

from tailfin.namesrv import lists, registration
from tailfin.namesrv.key_values import ORDER_TOPICS, KeyValues
from tailfin.namesrv.routes import Routes, in_zone
from tailfin.namesrv.settings import LiveSettings
from tailfin.namesrv.tables import Tables
from tailfin.remoting import Request, Response, handles
from tailfin.wire import version
from tailfin.wire.bodies.common import KVTable, TopicList
from tailfin.wire.bodies.routes import GetBrokerMemberGroupResponseBody, TopicRouteData
from tailfin.wire.bodies.topics import Perm
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import FAQ, RemotingError
from tailfin.wire.headers.namesrv import (
    ZONE_MODE,
    ZONE_NAME,
    AddWritePermOfBrokerRequestHeader,
    AddWritePermOfBrokerResponseHeader,
    DeleteKVConfigRequestHeader,
    DeleteTopicFromNamesrvRequestHeader,
    GetBrokerMemberGroupRequestHeader,
    GetKVConfigRequestHeader,
    GetKVConfigResponseHeader,
    GetKVListByNamespaceRequestHeader,
    GetRouteInfoRequestHeader,
    GetTopicsByClusterRequestHeader,
    PutKVConfigRequestHeader,
    RegisterTopicRequestHeader,
    WipeWritePermOfBrokerRequestHeader,
    WipeWritePermOfBrokerResponseHeader,
)


class RouteHandlers:
    """Where is a topic?"""  # it is a question

    def __init__(
        self, tables: Tables, key_values: KeyValues, settings: LiveSettings, age: Callable[[], float]
    ) -> None:
        """Answer from these; `age` tells for how many seconds the server has run."""
        self._routes = Routes(tables)
        self._key_values = key_values
        self._settings = settings
        self._age = age

    @handles(Code.GET_ROUTEINFO_BY_TOPIC)
    def route(self, request: Request) -> Response:
        """Answer with a topic's route, in the JSON that this client can read."""
        fields = request.fields
        header = GetRouteInfoRequestHeader.decode(fields)
        config = self._settings.now
        if config.needWaitForService and self._age() < config.waitSecondsForService:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "name server not ready")
        order = self._key_values.get(ORDER_TOPICS, header.topic) if config.orderMessageEnable else None
        standard = request.version >= version.V4_9_4 or header.accept_standard_json_only is True
        body = self._routes.encoded(header.topic, config, order, standard=standard)
        if body is None:
            remark = f"No topic route info in name server for the topic: {header.topic}{FAQ}"
            raise RemotingError(ResponseCode.TOPIC_NOT_EXIST, remark)
        zone = fields.get(ZONE_NAME)
        if zone and fields.get(ZONE_MODE, "").lower() == "true":
            body = in_zone(TopicRouteData.from_json(body), zone).to_json()
        return Response(body=body)


class TopicHandlers:
    """Topics and brokers as administrators see and change them."""

    def __init__(self, tables: Tables, settings: LiveSettings) -> None:
        self._tables = tables
        self._settings = settings

    @handles(Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    def all_topics(self, request: Request) -> Response:
        """List every topic."""
        return self._list(lists.all_topics, self._settings.now.enableAllTopicList)

    @handles(Code.GET_SYSTEM_TOPIC_LIST_FROM_NS)
    def system_topics(self, request: Request) -> Response:
        """List the topics that stand for clusters and brokers."""
        return self._list(lists.system_topics, True)

    @handles(Code.GET_UNIT_TOPIC_LIST)
    def unit_topics(self, request: Request) -> Response:
        """List topics of units."""
        return self._list(lists.unit_topics, self._settings.now.enableTopicList)

    @handles(Code.GET_HAS_UNIT_SUB_TOPIC_LIST)
    def unit_sub_topics(self, request: Request) -> Response:
        """List topics that units subscribe to."""
        return self._list(lists.unit_sub_topics, self._settings.now.enableTopicList)

    @handles(Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST)
    def unit_sub_of_no_unit_topics(self, request: Request) -> Response:
        """List topics that units subscribe to and that are of none."""
        return self._list(lists.unit_sub_of_no_unit_topics, self._settings.now.enableTopicList)

    @handles(Code.GET_TOPICS_BY_CLUSTER)
    def topics_of_cluster(self, request: Request) -> Response:
        """List the topics of a cluster."""
        cluster = GetTopicsByClusterRequestHeader.decode(request.fields).cluster
        return self._list(
            lambda tables: lists.topics_of_cluster(tables, cluster), self._settings.now.enableTopicList
        )

    @handles(Code.GET_BROKER_CLUSTER_INFO)
    def cluster_info(self, request: Request) -> Response:
        """List clusters and brokers."""
        return Response(body=lists.cluster_info(self._tables).to_json())

    @handles(Code.GET_BROKER_MEMBER_GROUP)
    def member_group(self, request: Request) -> Response:
        """List the members of a broker."""
        header = GetBrokerMemberGroupRequestHeader.decode(request.fields)
        group = lists.member_group(self._tables, header.cluster_name, header.broker_name)
        return Response(body=GetBrokerMemberGroupResponseBody(broker_member_group=group).to_json())

    @handles(Code.WIPE_WRITE_PERM_OF_BROKER)
    def wipe_write(self, request: Request) -> Response:
        """Take the permission to write from a broker's topics until it registers them changed."""
        name = WipeWritePermOfBrokerRequestHeader.decode(request.fields).broker_name
        count = self._tables.change_perm(name, lambda perm: perm & ~int(Perm.WRITE))
        return Response(fields=WipeWritePermOfBrokerResponseHeader(wipe_topic_count=count).encode())

    @handles(Code.ADD_WRITE_PERM_OF_BROKER)
    def add_write(self, request: Request) -> Response:
        """Let a broker's topics be read and written."""
        name = AddWritePermOfBrokerRequestHeader.decode(request.fields).broker_name
        count = self._tables.change_perm(name, lambda _: int(Perm.READ | Perm.WRITE))
        return Response(fields=AddWritePermOfBrokerResponseHeader(add_topic_count=count).encode())

    @handles(Code.DELETE_TOPIC_IN_NAMESRV)
    def delete_topic(self, request: Request) -> Response:
        """Remove a topic everywhere, or from the brokers of a cluster."""
        header = DeleteTopicFromNamesrvRequestHeader.decode(request.fields)
        names = list(self._tables.queues.get(header.topic, ()))
        if header.cluster_name:
            names = [name for name in names if name in self._tables.clusters.get(header.cluster_name, ())]
        for name in names:
            self._tables.drop_queues(header.topic, name)
        return Response()

    @handles(Code.REGISTER_TOPIC_IN_NAMESRV)
    def register_topic(self, request: Request) -> Response:
        """Give brokers a topic."""
        topic = RegisterTopicRequestHeader.decode(request.fields).topic
        if request.body:
            route = TopicRouteData.from_json(request.body)
            registration.put_topic(self._tables, topic, route.queue_datas)
        return Response()

    def _list(self, make: Callable[[Tables], TopicList], enabled: bool) -> Response:
        if not enabled:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "disable")
        return Response(body=make(self._tables).to_json())


class ConfigHandlers:
    """The key-value config and the server's own settings."""

    def __init__(self, key_values: KeyValues, settings: LiveSettings) -> None:
        self._key_values = key_values
        self._settings = settings

    @handles(Code.PUT_KV_CONFIG)
    async def put(self, request: Request) -> Response:
        """Set a text."""
        header = PutKVConfigRequestHeader.decode(request.fields)
        await self._key_values.put(header.namespace, header.key, header.value)
        return Response()

    @handles(Code.GET_KV_CONFIG)
    def get(self, request: Request) -> Response:
        """Answer with a text."""
        header = GetKVConfigRequestHeader.decode(request.fields)
        value = self._key_values.get(header.namespace, header.key)
        if value is None:
            remark = f"No config item, Namespace: {header.namespace} Key: {header.key}"
            raise RemotingError(ResponseCode.QUERY_NOT_FOUND, remark)
        return Response(fields=GetKVConfigResponseHeader(value=value).encode())

    @handles(Code.DELETE_KV_CONFIG)
    async def delete(self, request: Request) -> Response:
        """Remove a text."""
        header = DeleteKVConfigRequestHeader.decode(request.fields)
        await self._key_values.delete(header.namespace, header.key)
        return Response()

    @handles(Code.GET_KVLIST_BY_NAMESPACE)
    def of_namespace(self, request: Request) -> Response:
        """Answer with all texts of a namespace."""
        namespace = GetKVListByNamespaceRequestHeader.decode(request.fields).namespace
        table = self._key_values.of_namespace(namespace)
        if table is None:
            remark = f"No config item, Namespace: {namespace}"
            raise RemotingError(ResponseCode.QUERY_NOT_FOUND, remark)
        return Response(body=KVTable(table=table).to_json())

    @handles(Code.GET_NAMESRV_CONFIG)
    def settings(self, request: Request) -> Response:
        """Answer with every setting in force."""
        return Response(body=self._settings.text().encode())

    @handles(Code.UPDATE_NAMESRV_CONFIG)
    async def change_settings(self, request: Request) -> Response:
        """Change settings, in the file too."""
        try:
            text = request.body.decode()
        except UnicodeDecodeError:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "the body is not UTF-8") from None
        if text.strip():
            await self._settings.change(text)
        return Response()
