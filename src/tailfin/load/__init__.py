"""The load generator: drive a broker, any RocketMQ broker, and count what comes back.

`run` carries out one run described by `LoadOptions`; `topics` finds the broker and makes sure of the topic
before. The work is the engine's.
"""

from tailfin._engine import LimitServer, LoadFailed
from tailfin.load.options import LoadOptions
from tailfin.load.process import ProcessUse
from tailfin.load.run import Figures, Progress, run

__all__ = ["Figures", "LimitServer", "LoadFailed", "LoadOptions", "ProcessUse", "Progress", "run"]
