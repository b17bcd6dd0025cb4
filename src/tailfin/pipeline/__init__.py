"""Pipelines on Spark: described in YAML, or ready-made; `tailfin pipeline` runs them.

A file is read and checked without Spark (`reading`), turned into what Spark is asked to do (`plan`), and only
then run (`building`, `running`). The ready-made ones stand in folders and modules of their own name.
"""
