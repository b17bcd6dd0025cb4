"""A real cluster inside a test, on free ports, in a fraction of a second.

```python
from tailfin.testing import cluster

with cluster() as running:
    producer.connect(running.namesrv)
```

With pytest, the fixture `tailfin_cluster` gives one for a test: put
`pytest_plugins = ["tailfin.testing.plugin"]` into `conftest.py`.
"""

from tailfin.testing.cluster import Cluster, cluster

__all__ = ["Cluster", "cluster"]
