"""Topics kept as Parquet files, by topic and day: `tailfin pipeline archive`.

```
ARCHIVE/topic=orders/date=2026-01-31/*.parquet     what readers see
ARCHIVE/_checkpoint, _staging, _published, _lock   what the archive keeps for itself
```

Readers look past names that begin with `_`.
"""
