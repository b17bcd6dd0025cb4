"""The broker: what a RocketMQ broker decides, on top of the engine's store and sockets.

`tailfin.broker.app` is the table of contents.
"""
