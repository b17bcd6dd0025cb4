"""Looking after a cluster: one typed admin client, a file for each noun.

`tailfin.AdminClient` waits, `tailfin.aio.AdminClient` is awaited; both have the same names. The command line
is a face of it.
"""

from tailfin.admin.cluster import BrokerFigures, BrokerMember
from tailfin.admin.connections import ConnectedClient, GroupMembers, Subscription
from tailfin.admin.errors import AdminError, NotFound
from tailfin.admin.groups import GroupSettings
from tailfin.admin.progress import GroupProgress, OffsetChange, QueueProgress
from tailfin.admin.stats import Rate, Rates, Traffic
from tailfin.admin.times import Moment, Target
from tailfin.admin.topic_facts import QueueStatus, TopicPlace, TopicStatus
from tailfin.admin.tracking import MessageTrack, TrackStatus
from tailfin.wire.bodies.groups import GroupRetryPolicy, SubscriptionGroupConfig
from tailfin.wire.bodies.stats import ConsumeMessageDirectlyResult, ConsumerRunningInfo
from tailfin.wire.bodies.topics import Perm, TopicConfig

__all__ = [
    "AdminError",
    "BrokerFigures",
    "BrokerMember",
    "ConnectedClient",
    "ConsumeMessageDirectlyResult",
    "ConsumerRunningInfo",
    "GroupMembers",
    "GroupProgress",
    "GroupRetryPolicy",
    "GroupSettings",
    "MessageTrack",
    "Moment",
    "NotFound",
    "OffsetChange",
    "Perm",
    "QueueProgress",
    "QueueStatus",
    "Rate",
    "Rates",
    "Subscription",
    "SubscriptionGroupConfig",
    "Target",
    "TopicConfig",
    "TopicPlace",
    "TopicStatus",
    "TrackStatus",
    "Traffic",
]
