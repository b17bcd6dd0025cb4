"""Messages as Arrow tables, for pandas, polars, DuckDB and Spark.

`schema` says which columns there are, `ranges` reads parts of queues, `table` whole topics. Nothing is
started at import. pyarrow comes with `pip install tailfin[arrow]`.
"""
