"""A broker that is gone in the middle of its work, though its process lives on.

What a killed process leaves is what stood in its files. So they are copied before the broker puts them in
order, which it does in a directory that is then thrown away.
"""

import asyncio
import shutil
from pathlib import Path

from tailfin.broker.app import Broker


async def kill(broker: Broker) -> None:
    """Cut a broker off and leave its directory as it stands."""
    await broker.cut_off(drain=0.0)
    root = broker.settings.store.paths()["storePathRootDir"]
    left = root.with_name(f"{root.name}-killed")
    await asyncio.to_thread(_copy, root, left)
    await broker.put_away()
    await asyncio.to_thread(_replace, root, left)


async def revive(killed: Broker) -> Broker:
    """Start a new broker in the place of a killed one."""
    if not killed.is_stopped:
        raise ValueError(f"{killed.config.brokerName} is alive: kill it first")
    broker = Broker(killed.settings, clock=killed.clock)
    await broker.start()
    return broker


def _copy(root: Path, copy: Path) -> None:
    # The log comes last: what is derived from it may lag behind it, but never be ahead.
    log = "commitlog"
    shutil.copytree(root, copy, ignore=lambda folder, _: [log] if Path(folder) == root else [])
    shutil.copytree(root / log, copy / log)


def _replace(root: Path, copy: Path) -> None:
    shutil.rmtree(root)
    copy.rename(root)
