"""Registrations to try the tables with."""

from tailfin.namesrv.registration import Registered, Registration, register
from tailfin.namesrv.tables import Tables
from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.bodies.topics import (
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
    TopicQueueMappingInfo,
)


def topics(
    *names: str, version: int = 1, state: int = 0, **settings: int
) -> TopicConfigAndMappingSerializeWrapper:
    table = {name: TopicConfig(topic_name=name, read_queue_nums=4, write_queue_nums=4) for name in names}
    if settings:
        table = {name: TopicConfig(topic_name=name, **settings) for name in names}  # type: ignore[arg-type]
    return TopicConfigAndMappingSerializeWrapper(
        data_version=DataVersion(counter=version, state_version=state), topic_config_table=table
    )


def mapped(topic: str, broker: str) -> TopicConfigAndMappingSerializeWrapper:
    return TopicConfigAndMappingSerializeWrapper(
        topic_config_table={name: TopicConfig(topic_name=name) for name in (topic, "Other")},
        topic_queue_mapping_info_map={
            topic: TopicQueueMappingInfo(topic=topic, bname=broker, total_queues=2)
        },
    )


def registration(
    name: str = "broker-a",
    broker_id: int = 0,
    address: str = "10.0.0.1:10911",
    wrapper: TopicConfigAndMappingSerializeWrapper | None = None,
    *,
    cluster: str = "C",
    ha_address: str = "10.0.0.1:10912",
    filter_servers: list[str] | None = None,
    connection: int | None = 1,
    timeout_ms: int | None = None,
    acting_master: bool | None = None,
    zone: str | None = None,
    only_changes: bool = False,
) -> Registration:
    return Registration(
        cluster=cluster,
        name=name,
        address=address,
        broker_id=broker_id,
        ha_address=ha_address,
        topics=topics("T", "U") if wrapper is None else wrapper,
        filter_servers=filter_servers,
        connection=connection,
        timeout_ms=timeout_ms,
        acting_master=acting_master,
        zone=zone,
        only_changes=only_changes,
    )


def take(tables: Tables, new: Registration, now_ms: int = 0, *, drop_missing: bool = False) -> Registered:
    return register(tables, new, now_ms, drop_missing=drop_missing)


SLAVE = "10.0.0.2:10911"
