"""Numbers that users give are checked by name before anything is done with them. No I/O."""

from math import inf, nan
from numbers import Integral, Real

from tailfin.config.setting import ConfigError


def check_seconds(name: str, value: object, least: float | None = None, most: float = inf) -> None:
    """Raise ConfigError unless it is a number of seconds above 0, or within its bounds."""
    seconds = float(value) if isinstance(value, Real) else nan
    if not (seconds > 0 if least is None else least <= seconds <= most):
        bounds = "above 0" if least is None else _bounds(least, most)
        raise ConfigError(f"{name} is a number of seconds {bounds}, not {value!r}")


def check_whole(name: str, value: object, least: int, most: float = inf) -> None:
    """Raise ConfigError unless it is a whole number within its bounds."""
    if not isinstance(value, Integral) or not least <= int(value) <= most:
        raise ConfigError(f"{name} is a whole number {_bounds(least, most)}, not {value!r}")


def _bounds(least: float, most: float) -> str:
    return f"of at least {least:g}" if most == inf else f"from {least:.15g} to {most:.15g}"
