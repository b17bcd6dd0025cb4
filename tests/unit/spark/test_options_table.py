from tools import spark_options


def test_the_options_of_the_guide_are_those_of_the_code() -> None:
    guide = spark_options.GUIDE.read_text()
    assert guide == spark_options.with_table(guide), "run python -m tools.spark_options"
