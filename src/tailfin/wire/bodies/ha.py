"""Replication and controller."""

from dataclasses import field

from tailfin.wire.bodies.routes import BrokerMemberGroup
from tailfin.wire.body import Body, body


@body
class HAConnectionInfo(Body):
    """A slave as its master sees it."""

    addr: str | None = None
    slave_ack_offset: int = 0
    diff: int = 0
    in_sync: bool = False
    transferred_byte_in_second: int = 0
    transfer_from_where: int = 0


@body
class HAClientInfo(Body):
    """A master as its slave sees it."""

    master_addr: str | None = None
    transferred_byte_in_second: int = 0
    max_offset: int = 0
    last_read_timestamp: int = 0
    last_write_timestamp: int = 0
    master_flush_offset: int = 0
    is_activated: bool | None = None


@body
class HARuntimeInfo(Body):
    """The state of a broker's replication."""

    master: bool = False
    master_commit_log_max_offset: int = 0
    in_sync_slave_nums: int = 0
    ha_connection_info: list[HAConnectionInfo] = field(default_factory=list)
    ha_client_runtime_info: HAClientInfo | None = None


@body
class SyncStateSet(Body):
    """Members that have all data."""

    sync_state_set: list[int] = field(default_factory=list)
    sync_state_set_epoch: int = 0


@body
class ElectMasterResponseBody(Body):
    """The members after an election."""

    broker_member_group: BrokerMemberGroup | None = None
    sync_state_set: list[int] = field(default_factory=list)


@body
class ReplicaIdentity(Body):
    """A member of a broker."""

    broker_name: str | None = None
    broker_id: int | None = None
    broker_address: str | None = None
    alive: bool | None = None


@body
class ReplicasInfo(Body):
    """The members of a broker as the controller knows them."""

    master_broker_id: int | None = None
    master_address: str | None = None
    master_epoch: int | None = None
    sync_state_set_epoch: int | None = None
    in_sync_replicas: list[ReplicaIdentity] = field(default_factory=list)
    not_in_sync_replicas: list[ReplicaIdentity] = field(default_factory=list)


@body
class BrokerReplicasInfo(Body):
    """Members by broker."""

    replicas_info_table: dict[str, ReplicasInfo] = field(default_factory=dict)


@body
class EpochEntry(Body):
    """The stretch of the log that one master wrote."""

    epoch: int = 0
    start_offset: int = 0
    end_offset: int = 2**63 - 1


@body
class EpochEntryCache(Body):
    """All such stretches of a broker."""

    cluster_name: str | None = None
    broker_name: str | None = None
    broker_id: int = 0
    epoch_list: list[EpochEntry] = field(default_factory=list)
    max_offset: int = 0
