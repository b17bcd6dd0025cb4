"""Numbers that users give are checked by name before anything is done with them. No I/O."""

from numbers import Integral, Real

from tailfin.config.setting import ConfigError


def check_seconds(name: str, value: float, least: float | None = None, most: float | None = None) -> None:
    """Raise ConfigError unless it is a number of seconds above 0, or within its bounds."""
    is_number = isinstance(value, Real)
    if not is_number or not (value > 0 if least is None else value >= least) or (most and value > most):
        bounds = "above 0" if least is None else _bounds(least, most)
        raise ConfigError(f"{name} is a number of seconds {bounds}, not {value!r}")


def check_whole(name: str, value: int, least: int, most: int | None = None) -> None:
    """Raise ConfigError unless it is a whole number within its bounds."""
    if not isinstance(value, Integral) or value < least or (most is not None and value > most):
        raise ConfigError(f"{name} is a whole number {_bounds(least, most)}, not {value!r}")


def _bounds(least: float, most: float | None) -> str:
    return f"of at least {least:g}" if most is None else f"from {least:.15g} to {most:.15g}"
