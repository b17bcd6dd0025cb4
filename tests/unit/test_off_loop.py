"""Work on another thread is never left behind by a caller that is stopped."""

import asyncio
import threading

import pytest

from tailfin.off_loop import to_its_end


def test_work_of_a_cancelled_task_is_over_when_the_task_is() -> None:
    began, may_end, steps = threading.Event(), threading.Event(), []

    def work() -> str:
        began.set()
        may_end.wait()
        steps.append("the work is over")
        return "result"

    async def keeper() -> None:
        steps.append(await to_its_end(work))
        await asyncio.sleep(3600)

    async def stop_while_it_works() -> None:
        task = asyncio.create_task(keeper())
        await asyncio.to_thread(began.wait)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        steps.append("the task is over")

    asyncio.run(stop_while_it_works())
    assert steps == ["the work is over", "result", "the task is over"]


def test_what_the_work_raises_reaches_the_caller() -> None:
    def work() -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        asyncio.run(to_its_end(work))
