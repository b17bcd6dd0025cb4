"""RocketMQ's protocol as values: codes, frames, headers, bodies.

`codes` numbers, `version` releases, `frame` what travels on a socket, `headers` one class per header,
`bodies` one class per JSON body, `fastjson` every quirk of the Java side's JSON. Nothing here does I/O.
"""
