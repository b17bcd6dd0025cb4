"""Users and access rules."""

from dataclasses import field

from tailfin.wire.body import Body, body


@body
class UserInfo(Body):
    """A user."""

    username: str | None = None
    password: str | None = None
    user_type: str | None = None
    user_status: str | None = None


@body
class PolicyEntryInfo(Body):
    """What is allowed or denied on a resource."""

    resource: str | None = None
    actions: list[str] = field(default_factory=list)
    source_ips: list[str] = field(default_factory=list)
    decision: str | None = None


@body
class PolicyInfo(Body):
    """Rules of one rank: Custom before Default."""

    policy_type: str | None = None
    entries: list[PolicyEntryInfo] = field(default_factory=list)


@body
class AclInfo(Body):
    """The rules of a user."""

    subject: str | None = None
    policies: list[PolicyInfo] = field(default_factory=list)
