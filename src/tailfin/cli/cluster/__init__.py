"""`tailfin cluster`: brokers and name servers."""

from types import ModuleType

from tailfin.cli.cluster import config, show, update, writes
from tailfin.cli.cluster import list as list_brokers

VERBS: dict[str, ModuleType] = {
    "list": list_brokers,
    "show": show,
    "config": config,
    "update": update,
    "writes": writes,
}
