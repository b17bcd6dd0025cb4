"""The rows of the tables about Spark."""

from bench.rows import Pick, Row, cpu, rate

KAFKA = "Spark beside its connector for Kafka, on Kafka 4.1"
SPARK_LIMIT = "Spark beside a Python source and sink that do nothing"
FILES = "Store files in Spark, beside the same rows as Parquet"
SPARK_SECTIONS = {
    KAFKA: ("Kafka connector", "Tailfin"),
    SPARK_LIMIT: ("ceiling", "Tailfin"),
    FILES: ("Parquet", "store files"),
}
PEERS = {KAFKA: "kafka", SPARK_LIMIT: "ceiling", FILES: "parquet"}
BODIES = {"128": "128 B", "1k": "1 KiB"}
READS = {"scan": "scan {}", "catch-up": "stream that catches up, {}", "parquet": "scan {} into Parquet"}
TABLES = {"": "", "-few": ", seven columns"}
"""What is read, by how names of figures end: all columns, or those that Kafka's connector has too."""
KAFKA_GOALS = {
    ("scan", "128"): 2.0,
    ("scan", "1k"): 1.7,
    ("catch-up", "128"): 2.0,
    ("catch-up", "1k"): 1.7,
    ("parquet", "128"): 1.5,
}
CEILING_GOAL = 0.7


def _beside(section: str, case: str, title: str, benches: tuple[str, str], goal: float | None) -> list[Row]:
    """Return the rows of a figure, and of another of the peer."""

    def picks(key: str) -> tuple[Pick, Pick]:
        ours, others = benches
        return Pick("tailfin", ours, key), Pick(PEERS[section], others, key)

    used = picks("cpuSecondsPerMillion")
    return [
        Row(section, case, title, rate, *picks("perSecond"), ratio_goal=goal),
        Row(section, case, f"{title}, CPU per million", cpu, *used, more_is_better=False),
    ]


def _reads(section: str, name: str) -> list[Row]:
    rows = []
    for bench, title in READS.items():
        beside_kafka = KAFKA_GOALS.get((bench, name))
        goal = beside_kafka if section == KAFKA else CEILING_GOAL if bench != "parquet" else None
        for table, said in TABLES.items():
            ours = f"{bench}{table}"
            benches = (ours, bench if section == KAFKA else ours)
            words = f"{title.format(BODIES[name])}{said}"
            rows += _beside(section, f"spark-read-{name}", words, benches, goal)
    return rows


def _writes(section: str, name: str) -> list[Row]:
    goal = 1 if section == KAFKA else None
    return _beside(section, f"spark-write-{name}", f"write {BODIES[name]} to a topic", ("sink", "sink"), goal)


def _topics(section: str) -> list[Row]:
    return [row for rows in (_reads, _writes) for name in BODIES for row in rows(section, name)]


SPARK_ROWS = (
    *_topics(KAFKA),
    *_topics(SPARK_LIMIT),
    *(
        row
        for name, size in BODIES.items()
        for row in _beside(FILES, f"spark-files-{name}", f"scan {size}", ("files", "files"), None)
    ),
)
