"""OpenTelemetry: spans for what is sent and consumed, and the trace context in messages' properties.

Needs the extra: `pip install tailfin[otel]`. Without an SDK set up by the application the spans go nowhere.

```python
import tailfin
from tailfin.otel import OpenTelemetry

producer = tailfin.Producer("shop", nameserver="127.0.0.1:9876", hooks=[OpenTelemetry()])
```
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tailfin.client.hooks import Consuming, Hook, Sending

try:
    from opentelemetry import context, propagate, trace
except ImportError as error:
    raise ImportError("tailfin.otel needs OpenTelemetry's API: pip install tailfin[otel]") from error

if TYPE_CHECKING:
    from tailfin.client.messages import ReceivedMessage

_SPAN, _TOKEN = "otel_span", "otel_token"


class OpenTelemetry(Hook):
    """A hook that makes a span of every send and of every call of a handler.

    Args:
        provider: makes the tracer; the global one without.
    """

    def __init__(self, provider: "trace.TracerProvider | None" = None) -> None:
        self._tracer = trace.get_tracer("tailfin", tracer_provider=provider)

    def before_send(self, sending: Sending) -> None:
        """Begin a span, and put its context into the message."""
        message = sending.message
        span = self._tracer.start_span(
            f"send {message.topic}",
            kind=trace.SpanKind.PRODUCER,
            attributes={
                **_attributes(message.topic, sending.group, "send"),
                **_of_properties(message.properties),
                "messaging.message.body.size": len(message.body),
            },
        )
        carrier: dict[str, str] = {}
        propagate.inject(carrier, trace.set_span_in_context(span))
        message.properties.update(carrier)
        sending.notes[_SPAN] = span

    def after_send(self, sending: Sending) -> None:
        """End the span."""
        span = sending.notes.pop(_SPAN)
        if sending.result:
            span.set_attribute("messaging.message.id", sending.result.message_id)
            span.set_attribute("messaging.destination.partition.id", str(sending.result.queue.queue_id))
        _end(span, sending.error)

    def before_consume(self, consuming: Consuming) -> None:
        """Begin a span; it follows the one message's sender, or has links to the senders of several."""
        origins = [propagate.extract(each.properties) for each in consuming.messages]
        links = [trace.Link(trace.get_current_span(each).get_span_context()) for each in origins]
        span = self._tracer.start_span(
            f"process {consuming.queue.topic}",
            context=origins[0] if len(origins) == 1 else None,
            kind=trace.SpanKind.CONSUMER,
            links=[each for each in links if each.context.is_valid],
            attributes={
                **_attributes(consuming.queue.topic, consuming.group, "process"),
                **_of_received(consuming.messages[0]),
                "messaging.batch.message_count": len(consuming.messages),
                "messaging.destination.partition.id": str(consuming.queue.queue_id),
            },
        )
        consuming.notes[_SPAN] = span
        consuming.notes[_TOKEN] = context.attach(trace.set_span_in_context(span))

    def after_consume(self, consuming: Consuming) -> None:
        """End the span."""
        context.detach(consuming.notes.pop(_TOKEN))
        span = consuming.notes.pop(_SPAN)
        if not consuming.success and consuming.error is None:
            span.set_status(trace.StatusCode.ERROR, consuming.status)
        _end(span, consuming.error)


def _end(span: "trace.Span", error: BaseException | None) -> None:
    if error is not None:
        span.record_exception(error)
        span.set_status(trace.StatusCode.ERROR, str(error))
        span.set_attribute("error.type", type(error).__qualname__)
    span.end()


def _attributes(topic: str, group: str, operation: str) -> dict[str, str]:
    return {
        "messaging.system": "rocketmq",
        "messaging.operation.name": operation,
        "messaging.operation.type": operation,
        "messaging.destination.name": topic,
        "messaging.consumer.group.name"
        if operation == "process"
        else "messaging.rocketmq.client_group": group,
    }


def _of_properties(properties: Mapping[str, str]) -> dict[str, str | list[str]]:
    found: dict[str, str | list[str]] = {}
    if tags := properties.get("TAGS"):
        found["messaging.rocketmq.message.tag"] = tags
    if keys := properties.get("KEYS"):
        found["messaging.rocketmq.message.keys"] = keys.split()
    return found


def _of_received(message: "ReceivedMessage") -> dict[str, str | list[str]]:
    return {**_of_properties(message.properties), "messaging.message.id": message.message_id}
