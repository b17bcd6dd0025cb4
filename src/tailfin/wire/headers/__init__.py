"""One class per header of RocketMQ, one line per field: its name in Python, its type, its default."""
