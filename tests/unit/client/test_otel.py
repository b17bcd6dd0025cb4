"""Spans of OpenTelemetry."""

import subprocess
import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tailfin import Message, Queue, aio
from tailfin.client.errors import SendTimeout
from tailfin.client.hooks import Consuming
from tailfin.otel import OpenTelemetry
from tailfin.testing import cluster
from tests.unit.client.reading import received, stored
from tests.unit.loops import in_loop, until


def test_a_send_and_its_handler_are_one_trace() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    hook = OpenTelemetry(provider)

    @in_loop
    async def check() -> None:
        async with aio.Producer("shop", nameserver=node.namesrv, hooks=[hook]) as producer:
            result = await producer.send(Message("orders", b"paid", tags="t", keys=["a", "b"]))
            with node.faults.drop("send"), pytest.raises(SendTimeout):
                await producer.send(Message("orders", b"lost"), timeout=0.05)
        await until(lambda: stored(node, "orders"), "the message")
        (message,) = received(node, "orders")
        assert (message.property("traceparent") or "").startswith("00-")
        consuming = Consuming("billing", [message], Queue("orders", "broker-a", 0))
        hook.before_consume(consuming)
        consuming.success = True
        hook.after_consume(consuming)
        sent, lost, processed = exporter.get_finished_spans()
        assert (sent.name, processed.name) == ("send orders", "process orders")
        attributes = sent.attributes or {}
        assert attributes["messaging.message.id"] == result.message_id
        assert attributes["messaging.rocketmq.message.keys"] == ("a", "b")
        assert processed.parent
        assert processed.parent.span_id == sent.context.span_id
        assert processed.context.trace_id == sent.context.trace_id
        assert sent.status.is_ok or sent.status.is_unset
        assert (lost.attributes or {})["error.type"] == "SendTimeout"

    with cluster() as node:
        check()


WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
try:
    import tailfin.otel
except ImportError as error:
    print(error)
"""


def test_without_the_extra_it_says_how_to_get_it() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=25)
    assert done.stdout == "tailfin.otel needs OpenTelemetry's API: pip install tailfin[otel]\n"
