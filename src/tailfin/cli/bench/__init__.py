"""`tailfin bench`: load for a broker, of Tailfin or of RocketMQ."""

from types import ModuleType

from tailfin.cli.bench import create, e2e, limit_server, pull, send

VERBS: dict[str, ModuleType] = {
    "send": send,
    "pull": pull,
    "e2e": e2e,
    "create": create,
    "limit-server": limit_server,
}
