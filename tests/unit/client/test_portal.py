"""The event loop behind blocking clients."""

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from tailfin.client.blocking.portal import Portal
from tailfin.client.errors import ClientError, ClientStopped


async def thread_name() -> str:
    return threading.current_thread().name


def loop_threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name == "tailfin"]


def test_all_portals_share_a_thread_that_ends_with_the_last() -> None:
    first, second = Portal.open(), Portal.open()
    assert first.call(thread_name()) == second.call(thread_name()) == "tailfin"
    first.close()
    first.close()
    assert second.call(thread_name()) == "tailfin"
    assert loop_threads() == ["tailfin"]
    second.close()
    assert loop_threads() == []


def test_a_closed_portal_says_so() -> None:
    portal = Portal.open()
    portal.close()
    with pytest.raises(ClientStopped, match=r"call start\(\)"):
        portal.call(thread_name())


def test_what_fails_inside_fails_outside() -> None:
    async def fail() -> None:
        raise LookupError("inside")

    portal = Portal.open()
    try:
        with pytest.raises(LookupError, match="inside"):
            portal.call(fail())
    finally:
        portal.close()


def test_a_beginning_that_fails_leaves_no_way_in() -> None:
    async def fail() -> None:
        raise LookupError("inside")

    with pytest.raises(LookupError, match="inside"):
        Portal.opened_for(fail())
    assert loop_threads() == []


def test_a_blocking_call_inside_the_loop_is_refused() -> None:
    portal = Portal.open()

    async def misuse() -> None:
        portal.call(thread_name())

    try:
        with pytest.raises(ClientError, match=r"use tailfin\.aio here"):
            portal.call(misuse())
    finally:
        portal.close()


def test_closing_cancels_what_is_left() -> None:
    portal = Portal.open()
    cancelled = threading.Event()

    async def forever() -> None:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async def begin() -> "asyncio.Task[None]":
        task = asyncio.create_task(forever())
        await asyncio.sleep(0)
        return task

    task = portal.call(begin())
    portal.close()
    assert cancelled.wait(10)
    assert task.cancelled()


INTERRUPTED = """
import asyncio, threading
from tailfin.client.blocking.portal import Portal

ended = threading.Event()

async def forever():
    print("waiting", flush=True)
    try:
        await asyncio.sleep(3600)
    finally:
        ended.set()

portal = Portal.open()
try:
    portal.call(forever())
except KeyboardInterrupt:
    print("interrupted", ended.wait(10))
portal.close()
"""


def test_ctrl_c_ends_a_blocking_wait_and_what_it_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted True\n"
        assert process.wait(20) == 0


@pytest.mark.parametrize("begun", [True, False], ids=["begun", "not begun"])
def test_ctrl_c_ends_work_that_is_just_being_handed_over(
    monkeypatch: pytest.MonkeyPatch, begun: bool
) -> None:
    portal = Portal.open()
    hand_over = asyncio.run_coroutine_threadsafe
    begins, ended, never = threading.Event(), threading.Event(), asyncio.Event()

    async def forever() -> None:
        begins.set()
        try:
            await never.wait()
        finally:
            ended.set()

    def interrupted(work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> None:
        hand_over(work, loop)
        if begun:
            assert begins.wait(10)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(asyncio, "run_coroutine_threadsafe", interrupted)
        with pytest.raises(KeyboardInterrupt):
            portal.call(forever())
    portal.call(thread_name())  # the loop takes what it is given in order, so it is done with the work then
    is_ended = ended.is_set()
    portal.close()
    assert is_ended == begins.is_set()


FORGOTTEN = """
from tailfin.client.blocking.portal import Portal
import asyncio

async def begin():
    global task
    task = asyncio.create_task(asyncio.sleep(3600))

Portal.open().call(begin())
print("end")
"""


def test_a_portal_left_open_does_not_hold_up_the_interpreter() -> None:
    done = subprocess.run([sys.executable, "-c", FORGOTTEN], capture_output=True, text=True, timeout=25)
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)


FORKED = """
import os
from tailfin.client.blocking.portal import Portal

async def answer():
    return os.getpid()

before = Portal.open()
before.call(answer())
child = os.fork()
if not child:
    try:
        before.call(answer())
    except Exception as error:
        print(error, flush=True)
    own = Portal.open()
    print(own.call(answer()) == os.getpid(), flush=True)
    own.close()
    before.close()
    os._exit(0)
os.waitpid(child, 0)
print(before.call(answer()) == os.getpid())
before.close()
"""


def test_a_forked_child_has_to_make_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=25
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "this client was started before a fork: make a new one in the child process",
        "True",
        "True",
    ]
    assert done.returncode == 0
