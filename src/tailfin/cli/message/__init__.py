"""`tailfin message`: messages."""

from types import ModuleType

from tailfin.cli.message import query, read, resend, send, show

VERBS: dict[str, ModuleType] = {
    "send": send,
    "read": read,
    "show": show,
    "query": query,
    "resend": resend,
}
