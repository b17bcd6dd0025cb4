"""What can go wrong in the Spark source; each text says what to do about it."""

from tailfin.client.errors import ClientError


class BadRecord(ClientError):
    """A body that cannot be decoded."""


class VersionMismatch(ClientError):
    """An executor has another version of Tailfin than the driver."""

    def __init__(self, driver: str, executor: str) -> None:
        super().__init__(
            f"the driver has tailfin {driver} and this executor {executor}: install the same version on "
            "both, or ship the wheel with the job (docs/spark.md, Clusters)"
        )
