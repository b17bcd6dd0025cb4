"""The client: producers and consumers of any RocketMQ cluster.

One asyncio core (`tailfin.aio`); the blocking classes in `tailfin` are a thin face over it with the same
names. Decisions (which queue, whether to try again, who reads what) are pure functions; `network` is what
everything else stands on.
"""
