"""Wrong frames by the hundred thousand at a broker that serves others meanwhile.

`TAILFIN_HOSTILE_FRAMES` sets how many.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.clients import java_client, mutations, remoting, servers, storm
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.java_client import Saw
from tests.interop.clients.scenario_checks import assert_in_order, assert_nothing_lost, assert_same
from tests.interop.clients.servers import Server

FRAMES = int(os.environ.get("TAILFIN_HOSTILE_FRAMES", "1_000_000"))
NAMESRV_FRAMES = FRAMES // 20
GROWTH_LIMIT = 32 << 20
STORM_LIMIT_S = 800
NORMAL = (
    *("send_sync", "send_async", "send_batch", "send_large", "push_concurrent", "push_orderly_suspended"),
    *("push_broadcast", "push_tags", "rebalance", "offsets_restart", "pull", "pull_long_poll", "lite_subscribe"),
    *("admin_query", "admin_offsets", "admin_progress"),
)
