"""One class per JSON body of RocketMQ, one line per field."""
