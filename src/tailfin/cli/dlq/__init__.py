"""`tailfin dlq`: dead letters."""

from types import ModuleType

from tailfin.cli.dlq import list as list_letters
from tailfin.cli.dlq import resend, show

VERBS: dict[str, ModuleType] = {"list": list_letters, "show": show, "resend": resend}
