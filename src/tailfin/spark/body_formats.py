"""What bodies may be, besides bytes: each format says which columns it has, and decodes a batch at a time."""

import functools
from typing import Protocol

import pyarrow as pa

from tailfin.spark.options import SourceOptions


class BodyFormat(Protocol):
    """A format of bodies."""

    def ddl(self) -> str:
        """Return the columns that bodies have, as Spark reads them.

        Raises:
            ConfigError: nobody said which.
        """

    def check(self, wanted: pa.StructType) -> None:
        """Raise ConfigError for a column that bodies cannot be decoded to."""

    def decode(self, bodies: pa.BinaryArray, wanted: pa.StructType) -> tuple[pa.StructArray, dict[int, str]]:
        """Decode bodies.

        Args:
            bodies: the bodies.
            wanted: the columns, which were checked.

        Returns:
            A row for each body, and the reasons of those that cannot be decoded by their number.
        """


@functools.lru_cache(maxsize=16)
def body_format(options: SourceOptions) -> BodyFormat:
    """Return the format that options name; it is not `raw`.

    Raises:
        ConfigError: its schema cannot work.
    """
    if options.format == "avro":
        from tailfin.spark.avro_bodies import AvroBodies

        return AvroBodies(options.schema, options.avroFraming)
    from tailfin.spark.json_bodies import JsonBodies

    return JsonBodies(options.schema)
