"""`tailfin offset`: how far groups are."""

from types import ModuleType

from tailfin.cli.offset import clone, lag, reset, skip

VERBS: dict[str, ModuleType] = {"lag": lag, "reset": reset, "skip": skip, "clone": clone}
