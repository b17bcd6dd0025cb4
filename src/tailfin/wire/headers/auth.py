"""Users and access rules."""

from tailfin.wire.header import Header, header


@header
class CreateAclRequestHeader(Header):
    """Request of AUTH_CREATE_ACL."""

    subject: str | None = None


@header
class CreateUserRequestHeader(Header):
    """Request of AUTH_CREATE_USER."""

    username: str | None = None


@header
class DeleteAclRequestHeader(Header):
    """Request of AUTH_DELETE_ACL."""

    subject: str | None = None
    policy_type: str | None = None
    resource: str | None = None


@header
class DeleteUserRequestHeader(Header):
    """Request of AUTH_DELETE_USER."""

    username: str | None = None


@header
class GetAclRequestHeader(Header):
    """Request of AUTH_GET_ACL."""

    subject: str | None = None


@header
class GetUserRequestHeader(Header):
    """Request of AUTH_GET_USER."""

    username: str | None = None


@header
class ListAclsRequestHeader(Header):
    """Request of AUTH_LIST_ACL."""

    subject_filter: str | None = None
    resource_filter: str | None = None


@header
class ListUsersRequestHeader(Header):
    """Request of AUTH_LIST_USER."""

    filter: str | None = None


@header
class UpdateAclRequestHeader(Header):
    """Request of AUTH_UPDATE_ACL."""

    subject: str | None = None


@header
class UpdateUserRequestHeader(Header):
    """Request of AUTH_UPDATE_USER."""

    username: str | None = None
