"""Requests and responses: `client` to other servers, `server` over the engine's sockets."""

from tailfin._engine import Event, HotPath, Request
from tailfin.remoting.client import Client
from tailfin.remoting.dispatch import Hook, Response, handles
from tailfin.remoting.server import DRAIN_S, Server

__all__ = ["DRAIN_S", "Client", "Event", "Hook", "HotPath", "Request", "Response", "Server", "handles"]
