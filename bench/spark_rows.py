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
KAFKA_GOALS = {
    ("scan", "128"): 2.0,
    ("scan", "1k"): 1.7,
    ("catch-up", "128"): 2.0,
    ("catch-up", "1k"): 1.7,
    ("parquet", "128"): 1.5,
}
CEILING_GOAL = 0.7


def _beside(section: str, case: str, title: str, bench: str, goal: float | None) -> list[Row]:
    def picks(key: str) -> tuple[Pick, Pick]:
        return Pick("tailfin", bench, key), Pick(PEERS[section], bench, key)

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
        rows += _beside(section, f"spark-read-{name}", title.format(BODIES[name]), bench, goal)
    return rows


def _writes(section: str, name: str) -> list[Row]:
    goal = 1 if section == KAFKA else None
    return _beside(section, f"spark-write-{name}", f"write {BODIES[name]} to a topic", "sink", goal)


def _topics(section: str) -> list[Row]:
    return [row for rows in (_reads, _writes) for name in BODIES for row in rows(section, name)]


SPARK_ROWS = (
    *_topics(KAFKA),
    *_topics(SPARK_LIMIT),
    *(
        row
        for name, size in BODIES.items()
        for row in _beside(FILES, f"spark-files-{name}", f"scan {size}", "files", None)
    ),
)
