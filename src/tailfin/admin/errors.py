"""What the admin client raises by itself; what a server refuses is a `RemotingError`."""

from tailfin.client.errors import ClientError


class AdminError(ClientError):
    """Something that cannot be done as asked; the text says what can."""


class NotFound(AdminError, LookupError):
    """There is no such topic, group, broker, client or message."""
