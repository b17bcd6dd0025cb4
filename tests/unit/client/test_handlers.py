"""What a handler may be, and what its outcome means."""

import functools

import pytest

from tailfin.client.consuming.handlers import RETRY, Retry, check_handler, is_async, judged


@pytest.mark.shows("RT-04")
def test_outcomes() -> None:
    assert judged(None) is None
    assert judged(True) is None
    assert judged("anything else") is None
    assert judged(False) is RETRY
    assert judged(RETRY) is RETRY
    assert judged(Retry(5)) == Retry(5)


def test_something_to_await_from_a_plain_function_is_a_mistake() -> None:
    async def later() -> None: ...

    with pytest.raises(TypeError, match="async def"):
        judged(later())


@pytest.mark.parametrize("level", [-2, 19])
def test_a_level_that_does_not_exist_is_refused(level: int) -> None:
    with pytest.raises(ValueError, match="-1 to 18"):
        Retry(level)


def test_coroutine_functions_are_known_in_every_form() -> None:
    async def function(message: object) -> None: ...

    class Called:
        async def __call__(self, message: object) -> None: ...

        async def method(self, message: object) -> None: ...

    assert is_async(function)
    assert is_async(functools.partial(function))
    assert is_async(Called())
    assert is_async(Called().method)
    assert not is_async(print)
    assert not is_async(lambda message: None)


def test_what_cannot_be_called_is_no_handler() -> None:
    with pytest.raises(TypeError, match="not 5"):
        check_handler(5)


def test_a_handler_of_two_arguments_is_told_what_it_gets() -> None:
    def of_java(messages: object, context: object) -> None: ...

    with pytest.raises(TypeError, match=r"one argument, the message.*of_java takes \(messages"):
        check_handler(of_java)
    check_handler(print)
    check_handler(list[object]().append)
    check_handler(lambda message, log=None: None)
