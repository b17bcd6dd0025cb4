"""The one exception of the protocol: a response code other than success, with its remark."""

from tailfin.wire.codes import ResponseCode

FAQ = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."
"""What RocketMQ puts behind remarks about unknown topics and groups."""


class RemotingError(Exception):
    """A request that ended with another code than SUCCESS; a handler raises it to answer so."""

    def __init__(self, code: int, remark: str) -> None:
        """Keep the code as a `ResponseCode` where it has a name."""
        super().__init__(code, remark)
        self.code: int = ResponseCode(code) if code in _KNOWN else code
        self.remark = remark

    def __str__(self) -> str:
        name = self.code.name if isinstance(self.code, ResponseCode) else "code"
        return f"{name}({int(self.code)}): {self.remark}"


_KNOWN = frozenset(int(each) for each in ResponseCode)
