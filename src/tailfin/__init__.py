"""RocketMQ in Python, with an engine of its own for the bytes."""
