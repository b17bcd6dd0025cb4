"""`tailfin pipeline`: pipelines on Spark."""

from types import ModuleType

from tailfin.cli.pipeline import archive, audit, check, dlq, lag, preview, replay, run, trace

VERBS: dict[str, ModuleType] = {
    "run": run,
    "check": check,
    "preview": preview,
    "archive": archive,
    "replay": replay,
    "dlq": dlq,
    "trace": trace,
    "audit": audit,
    "lag": lag,
}
