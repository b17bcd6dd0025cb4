"""What `import tailfin` gives, and what it costs."""

import subprocess
import sys

import pytest

import tailfin


@pytest.mark.parametrize("name", sorted(tailfin._HOME_OF))
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(tailfin, name) is not None
    assert name in dir(tailfin)


def test_a_name_that_is_not_there_is_said() -> None:
    with pytest.raises(AttributeError, match="module 'tailfin' has no attribute 'Cosumer'"):
        tailfin.Cosumer  # type: ignore[attr-defined]  # noqa: B018  # that is the test


NOTHING_HAPPENS = """
import logging, sys, threading
import tailfin
assert not any(each.startswith(("asyncio", "tailfin.")) for each in sys.modules), sorted(sys.modules)
import tailfin.aio
tailfin.Producer
assert threading.active_count() == 1
assert not logging.getLogger().handlers and not logging.getLogger("tailfin.client").handlers
"""


def test_an_import_loads_little_and_starts_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", NOTHING_HAPPENS], capture_output=True, text=True, timeout=25)
    assert (done.stderr, done.returncode) == ("", 0)
