"""`tailfin store`: tools for a store directory that no store need have open."""

from types import ModuleType

from tailfin.cli.store import dump, inspect, verify

VERBS: dict[str, ModuleType] = {"inspect": inspect, "verify": verify, "dump": dump}
