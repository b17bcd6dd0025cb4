"""A running producer: its parts, and how they start and stop."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Mapping
from functools import partial

from tailfin._engine import Outbox, Promise, Receipt
from tailfin.broker.address import local_address
from tailfin.client import names
from tailfin.client.delivery import Delivery
from tailfin.client.errors import SendFailed, SendTimeout
from tailfin.client.given_up import GivenUp
from tailfin.client.letters import Letters, Target
from tailfin.client.messages import Message, ReceivedMessage
from tailfin.client.network import Network
from tailfin.client.options import ClientOptions
from tailfin.client.posting import Posting
from tailfin.client.producer_options import ProducerOptions
from tailfin.client.queues import Queue
from tailfin.client.requests import Requests, no_reply
from tailfin.client.results import ProducerStats, SendResult, result_of
from tailfin.client.retrying import STORED, Ended, failure, share_of
from tailfin.client.routes import Route
from tailfin.client.trace import Tracer
from tailfin.client.transactions import Transactions
from tailfin.remoting.connection import Handler
from tailfin.wire.bodies.clients import ProducerData
from tailfin.wire.codes import Code
from tailfin.wire.headers.send import RecallMessageRequestHeader, RecallMessageResponseHeader
from tailfin.wire.recall import RecallHandle

log = logging.getLogger("tailfin.client")


class Production:
    """The parts of a producer from its start to its stop; a member of its network.

    Attributes:
        letters: prepares messages, and counts.
        delivery: sends them one by one.
        posting: sends them together.
        transactions: ends of transactions.
        requests: requests that wait for their reply.
    """

    def __init__(self, group: str, client_options: ClientOptions, options: ProducerOptions) -> None:
        self.group = group
        self.options = options
        self.network = Network(client_options)
        self.outbox = Outbox(self.network.carrier.courier, outbox_options(group, self.network, options))
        self._tracer = Tracer(self.network, self._send_unseen) if client_options.trace else None
        hooks = [*client_options.hooks, *([self._tracer] if self._tracer else [])]
        self._unseen = Letters(self.network, group, options)
        self.letters = Letters(self.network, group, options, hooks)
        self._given_up = GivenUp()
        self.delivery = Delivery(
            self.network, self.outbox, self.letters, options.default_queues, self._given_up
        )
        self.posting = Posting(self.network, self.outbox, self.letters, options, self._given_up)
        self.transactions = Transactions(self.network, group, options.check, hooks)
        self.requests = Requests(self.network.client_id)

    async def start(self) -> None:
        """Begin; brokers hear of the producer when it uses them."""
        await self.network.start()
        self.network.join(self)
        if self._tracer:
            self._tracer.start()

    async def flush(self, timeout: float | None) -> bool:
        """Send what is held back, and wait for all that is under way; return whether it has ended."""
        began = time.monotonic()
        if not await asyncio.to_thread(self.outbox.flush, timeout):
            return False
        left = None if timeout is None else max(timeout - (time.monotonic() - began), 0.0)
        return await self.delivery.drain(left)

    async def stop(self) -> None:
        """Wait for what is under way, up to `stop_timeout`, say goodbye and close."""
        if not await self.flush(self.network.options.stop_timeout):
            log.warning("%d messages were still under way when the producer stopped", self.outbox.pending())
        self.posting.close()
        self.delivery.close()
        self._given_up.close()
        if self._tracer:
            await self._tracer.stop()
        await self.network.stop()

    @property
    def post(self) -> Callable[[Message], Promise | None] | None:
        """What hands a message to the engine; None while hooks want to see each one.

        It returns None as long as the topic has to be opened first.
        """
        return None if self.letters.has_hooks else partial(self.outbox.post, self.judge)

    def outcome(self, receipt: Receipt) -> SendResult:
        """Return the result of a receipt that is done, or raise what it came to."""
        outcome = self.judge(receipt)
        if isinstance(outcome, SendFailed):
            raise outcome
        return outcome

    def judge(self, receipt: Receipt) -> SendResult | SendFailed:
        """Say what a receipt that is done came to."""
        topic = self.letters.user_topic(receipt.topic)
        code = receipt.code
        if code in STORED:
            return result_of(receipt, topic)
        queue = Queue(topic, receipt.broker, receipt.queue_id)
        return failure(Ended(code or 0, receipt.remark, 0.0), queue, receipt.tries, self.options.timeout)

    def stats(self) -> ProducerStats:
        """Return what was done since the start, and what is under way."""
        counts = self.letters.counts
        stored, given_up = self.outbox.counts()
        return ProducerStats(
            sent=counts.sent + stored,
            failed=counts.failed + given_up,
            retried=counts.retried,
            pending=self.outbox.pending(),
            pending_bytes=self.outbox.pending_bytes(),
            avoided=self.letters.faults.snapshot(time.monotonic() * 1000),
        )

    async def request(self, message: Message, target: Target, seconds: float) -> ReceivedMessage:
        """Send a message that asks for a reply, and wait for it."""
        deadline = time.monotonic() + seconds
        marked, request_id, reply = self.requests.open(message, seconds)
        try:
            letter = self.letters.write(marked, target, mode="async")
            await self.delivery.find_route(letter)
            # The reply comes over this producer's connection to a broker, which has to know whose it is.
            await self.network.introduce()
            await self.delivery.deliver(letter)
            async with asyncio.timeout(max(deadline - time.monotonic(), 0.0)):
                return await reply
        except TimeoutError as error:
            if isinstance(error, SendTimeout):
                raise
            raise no_reply(message.topic, seconds) from None
        finally:
            self.requests.close(request_id)

    async def recall(self, topic: str, handle: str) -> str:
        """Take a delayed message back; return its id."""
        wire_topic = names.wrap(self.network.options.namespace, topic)
        await self.delivery.route(wire_topic)
        header = RecallMessageRequestHeader(producer_group=self.group, topic=wire_topic, recall_handle=handle)
        address = self.network.address_of(RecallHandle.decode(handle).broker)
        answer = await self.network.call(address, Code.RECALL_MESSAGE, header=header)
        return RecallMessageResponseHeader.decode(answer.fields).msg_id

    async def queues(self, topic: str) -> tuple[Queue, ...]:
        """Return the queues that messages of a topic are sent to."""
        wire_topic = names.wrap(self.network.options.namespace, topic)
        await self.delivery.route(wire_topic)
        return tuple(self.letters.user_queue(*each) for each in self.letters.queues(wire_topic))

    @property
    def handlers(self) -> Mapping[int, Handler]:
        """What it does with brokers' requests."""
        return {
            Code.CHECK_TRANSACTION_STATE: self.transactions.asked,
            Code.PUSH_REPLY_MESSAGE_TO_CLIENT: self.requests.replied,
        }

    def heartbeat(self) -> ProducerData:
        """Return what brokers are told about it."""
        return ProducerData(group_name=self.group)

    def route_changed(self, route: Route) -> None:
        """Hear of a topic's first or changed route."""
        self.posting.take_route(route)

    async def _send_unseen(self, message: Message) -> list[SendResult]:
        """Send a message that hooks do not see: it is about those that they saw."""
        letter = self._unseen.write(message, Target())
        return await self.delivery.deliver(letter)


def outbox_options(group: str, network: Network, options: ProducerOptions) -> dict[str, int | bool | str]:
    """Return a producer's options as the engine takes them."""
    return {
        "group": group,
        "linger_ms": round(options.linger * 1000),
        "batch_bytes": options.batch_bytes,
        "batch_count": options.batch_count,
        "room_bytes": options.buffer_bytes,
        "compression": options.compression,
        "compression_level": options.compression_level,
        "compress_over": options.compress_over,
        "max_message_size": options.max_message_size,
        # Of the first try; what follows one that failed is decided here.
        "timeout_ms": round(share_of(options.timeout, options.policy.tries) * 1000),
        "default_topic": options.default_topic,
        "default_queues": options.default_queues,
        "unit_mode": bool(network.options.unit),
        "instance_id": network.options.namespace or "",
        "client_ip": _ip(network.client_id.partition("@")[0]),
    }


def _ip(host: str) -> str:
    """Return an address for message ids; a host may call itself whatever it likes."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return host
    return local_address()
