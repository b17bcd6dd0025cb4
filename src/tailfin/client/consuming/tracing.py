"""The trace of what a consumer consumes: a producer of its own sends it."""

from tailfin.client.network import Network
from tailfin.client.options import ClientOptions
from tailfin.client.producer import Producer
from tailfin.client.trace import Tracer

GROUP = "_INNER_TRACE_PRODUCER"


class ConsumptionTrace:
    """Notes what a consumer's handler gets and how that ends, and sends it to the trace topic.

    Args:
        network: the consumer's.
        options: the consumer's; the producer has the same, but for what is of the consumer alone.
    """

    def __init__(self, network: Network, options: ClientOptions) -> None:
        own = {
            name: getattr(options, name)
            for name in options.__dataclass_fields__
            if name not in ("hooks", "instance", "trace")
        }
        self._producer = Producer(GROUP, **own)
        self.hook = Tracer(network, self._producer.send)

    async def start(self) -> None:
        """Begin to send."""
        await self._producer.start()
        self.hook.start()

    async def stop(self) -> None:
        """Send what is left, and end."""
        await self.hook.stop()
        await self._producer.stop()
