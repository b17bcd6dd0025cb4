"""Questions to name servers: any one of them answers, and the one that did is asked again."""

import logging
import random
from collections.abc import Sequence

from tailfin.client.errors import NoNameServer, got_no_answer
from tailfin.remoting.client import Client
from tailfin.wire.bodies.routes import TopicRouteData
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.frame import Frame
from tailfin.wire.header import Header
from tailfin.wire.headers.namesrv import GetRouteInfoRequestHeader

log = logging.getLogger("tailfin.client")


class NameServers:
    """The name servers of a cluster.

    Clients begin at a random one, so that they spread, and stay with it until it fails.
    """

    def __init__(self, addresses: Sequence[str], client: Client, timeout: float) -> None:
        self.addresses = tuple(addresses)
        self._client = client
        self._timeout = timeout
        self._chosen = random.randrange(len(self.addresses))

    async def call(
        self, code: int, *, header: Header | None = None, body: bytes = b"", timeout: float | None = None
    ) -> Frame:
        """Ask the chosen name server, or the next one that answers.

        Raises:
            NoNameServer: none answers.
            RemotingError: one refuses; the others would as well.
        """
        trouble = ""
        for address in self._in_turn():
            try:
                return await self._ask(address, code, header, body, timeout)
            except RemotingError as error:
                if not got_no_answer(error):
                    raise
                trouble = error.remark
                log.info("name server %s does not answer: %s", address, trouble)
        raise NoNameServer(self.addresses, trouble)

    async def find_route(self, topic: str, timeout: float | None = None) -> TopicRouteData | None:
        """Return what is known about a topic, None when it does not exist.

        A name server that has just started may not know what the others do: all of them are asked before
        a topic counts as missing.
        """
        header = GetRouteInfoRequestHeader(topic=topic)
        missing, trouble = False, ""
        for address in self._in_turn():
            try:
                answer = await self._ask(address, Code.GET_ROUTEINFO_BY_TOPIC, header, b"", timeout)
                return TopicRouteData.from_json(answer.body)
            except RemotingError as error:
                if error.code == ResponseCode.TOPIC_NOT_EXIST:
                    missing = True
                elif not got_no_answer(error):
                    raise
                trouble = error.remark
        if not missing:
            raise NoNameServer(self.addresses, trouble)
        return None

    async def _ask(
        self, address: str, code: int, header: Header | None, body: bytes, timeout: float | None
    ) -> Frame:
        answer = await self._client.call(
            address, code, header=header, body=body, timeout=timeout or self._timeout
        )
        self._chosen = self.addresses.index(address)
        return answer

    def _in_turn(self) -> tuple[str, ...]:
        return self.addresses[self._chosen :] + self.addresses[: self._chosen]
