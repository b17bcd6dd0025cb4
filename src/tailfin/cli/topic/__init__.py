"""`tailfin topic`: topics."""

from types import ModuleType

from tailfin.cli.topic import create, delete, show, update
from tailfin.cli.topic import list as list_topics

VERBS: dict[str, ModuleType] = {
    "list": list_topics,
    "show": show,
    "create": create,
    "update": update,
    "delete": delete,
}
