"""`tailfin group`: consumer groups."""

from types import ModuleType

from tailfin.cli.group import create, delete, show, update
from tailfin.cli.group import list as list_groups

VERBS: dict[str, ModuleType] = {
    "list": list_groups,
    "show": show,
    "create": create,
    "update": update,
    "delete": delete,
}
