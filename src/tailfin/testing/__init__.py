"""A real cluster inside a test, on free ports, in a fraction of a second.

```python
from tailfin.testing import cluster, until

with cluster() as running:
    connect(running.namesrv)
    running.clock.advance(3600)  # delays, retries, timers and transactions: an hour later
    running.faults.drop("send", times=1)  # and what goes wrong
```

With pytest, the fixture `tailfin_cluster` gives one for a test, in every project that has Tailfin installed.
Where plugins are not loaded by themselves, `pytest_plugins = ["tailfin.testing.plugin"]` in `conftest.py`
does it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailfin.testing.clock import FakeClock
    from tailfin.testing.clusters import Cluster, cluster
    from tailfin.testing.faults import Fault, Faults
    from tailfin.testing.waiting import until

__all__ = ["Cluster", "FakeClock", "Fault", "Faults", "cluster", "until"]

_HOMES = {
    "Cluster": "clusters",
    "FakeClock": "clock",
    "Fault": "faults",
    "Faults": "faults",
    "cluster": "clusters",
    "until": "waiting",
}


def __getattr__(name: str) -> object:
    # pytest imports the plugin beside this in every run of every project: a broker only where one is wanted.
    if name not in _HOMES:
        raise AttributeError(f"tailfin.testing has no {name!r}")
    return getattr(import_module(f"tailfin.testing.{_HOMES[name]}"), name)
