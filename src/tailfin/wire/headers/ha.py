"""Replication, controller and broker container."""

from dataclasses import field

from tailfin.wire.header import Header, Int, Long, header, now_ms


@header
class AddBrokerRequestHeader(Header):
    """Request of ADD_BROKER."""

    config_path: str | None = None


@header
class AlterSyncStateSetRequestHeader(Header):
    """Request of CONTROLLER_ALTER_SYNC_STATE_SET."""

    broker_name: str | None = None
    master_broker_id: Long | None = None
    master_epoch: Int | None = None
    invoke_time: Long = field(default_factory=now_ms)


@header
class AlterSyncStateSetResponseHeader(Header):
    """Answer to CONTROLLER_ALTER_SYNC_STATE_SET."""

    new_sync_state_set_epoch: Int = 0


@header
class ApplyBrokerIdRequestHeader(Header):
    """Request of CONTROLLER_APPLY_BROKER_ID."""

    cluster_name: str | None = None
    broker_name: str | None = None
    applied_broker_id: Long | None = None
    register_check_code: str | None = None


@header
class ApplyBrokerIdResponseHeader(Header):
    """Answer to CONTROLLER_APPLY_BROKER_ID."""

    cluster_name: str | None = None
    broker_name: str | None = None


@header
class CleanControllerBrokerDataRequestHeader(Header):
    """Request of CLEAN_BROKER_DATA."""

    cluster_name: str | None = None
    broker_name: str
    broker_controller_ids_to_clean: str | None = None
    is_clean_living_broker: bool = False
    invoke_time: Long = field(default_factory=now_ms)


@header
class ElectMasterRequestHeader(Header):
    """Request of CONTROLLER_ELECT_MASTER."""

    cluster_name: str
    broker_name: str
    broker_id: Long = -1
    designate_elect: bool = False
    invoke_time: Long = field(default_factory=now_ms)


@header
class ElectMasterResponseHeader(Header):
    """Answer to CONTROLLER_ELECT_MASTER."""

    master_broker_id: Long | None = None
    master_address: str | None = None
    master_epoch: Int | None = None
    sync_state_set_epoch: Int | None = None


@header
class ExchangeHAInfoRequestHeader(Header):
    """Request of EXCHANGE_BROKER_HA_INFO."""

    master_ha_address: str | None = None
    master_flush_offset: Long | None = None
    master_address: str | None = None


@header
class ExchangeHAInfoResponseHeader(Header):
    """Answer to EXCHANGE_BROKER_HA_INFO."""

    master_ha_address: str | None = None
    master_flush_offset: Long | None = None
    master_address: str | None = None


@header
class GetMetaDataResponseHeader(Header):
    """Answer to CONTROLLER_GET_METADATA_INFO."""

    group: str | None = None
    controller_leader_id: str | None = None
    controller_leader_address: str | None = None
    is_leader: bool = False
    peers: str | None = None


@header
class GetNextBrokerIdRequestHeader(Header):
    """Request of CONTROLLER_GET_NEXT_BROKER_ID."""

    cluster_name: str | None = None
    broker_name: str | None = None


@header
class GetNextBrokerIdResponseHeader(Header):
    """Answer to CONTROLLER_GET_NEXT_BROKER_ID."""

    cluster_name: str | None = None
    broker_name: str | None = None
    next_broker_id: Long | None = None


@header
class GetReplicaInfoRequestHeader(Header):
    """Request of CONTROLLER_GET_REPLICA_INFO."""

    broker_name: str | None = None


@header
class GetReplicaInfoResponseHeader(Header):
    """Answer to CONTROLLER_GET_REPLICA_INFO."""

    master_broker_id: Long | None = None
    master_address: str | None = None
    master_epoch: Int | None = None


@header
class NotifyBrokerRoleChangedRequestHeader(Header):
    """Request of NOTIFY_BROKER_ROLE_CHANGED."""

    master_address: str | None = None
    master_epoch: Int | None = None
    sync_state_set_epoch: Int | None = None
    master_broker_id: Long | None = None


@header
class RegisterBrokerToControllerRequestHeader(Header):
    """Request of CONTROLLER_REGISTER_BROKER."""

    cluster_name: str | None = None
    broker_name: str | None = None
    broker_id: Long | None = None
    broker_address: str | None = None
    invoke_time: Long = 0


@header
class RegisterBrokerToControllerResponseHeader(Header):
    """Answer to CONTROLLER_REGISTER_BROKER."""

    cluster_name: str | None = None
    broker_name: str | None = None
    master_broker_id: Long | None = None
    master_address: str | None = None
    master_epoch: Int | None = None
    sync_state_set_epoch: Int | None = None


@header
class RemoveBrokerRequestHeader(Header):
    """Request of REMOVE_BROKER."""

    broker_name: str
    broker_cluster_name: str
    broker_id: Long


@header
class ResetMasterFlushOffsetHeader(Header):
    """Request of RESET_MASTER_FLUSH_OFFSET."""

    master_flush_offset: Long
