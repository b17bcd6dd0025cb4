"""Python clients, each on a server of its own kind: how fast, and what a message costs the client.

A client is measured by a small program in a process of its own (`bench/clients`), and its CPU is that of
this process. Each round starts the servers anew and lets program and server run warm.
"""

import os
import sys

from bench import client_servers, footprint
from bench.broker_cases import measured, turns_of
from bench.cases import Case, Session
from bench.client_servers import Server
from bench.sides import Figures, run

SIDES = ("tailfin", "kafka", "grpc")
TOPIC = "Bench"
SLOW = ("grpc",)
SLOW_SECONDS = 10
"""A client with a thousandth of the others' rate is measured for so long."""
SECONDS_MAX = 300


def run_program(session: Session, side: str, action: str, server: Server, body: int, count: int) -> Figures:
    """Let a client's program do something so many times; return its figures."""
    python = sys.executable if side == "tailfin" else client_servers.peers_python()
    seconds = session.amount(SLOW_SECONDS, 2) if side in SLOW else SECONDS_MAX
    options = {"body": body, "warmup": count, "count": count, "seconds": seconds}
    words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
    command = [str(python), "-m", f"bench.clients.{side}_program", action, server.address, TOPIC, *words]
    # One of the clients writes log files into the home directory as soon as it is imported.
    environment = os.environ | {"HOME": str(session.data)}
    (figures,) = run(command, environment)
    return figures


def produce(session: Session, case: Case) -> None:
    """Send without waiting for each message, with every outcome looked at, and by trust in the flush."""
    count = session.amount(2_000_000 if case.body <= 128 else 1_000_000, 20_000)

    def turn(side: str) -> list[Figures]:
        actions = ("collect",) if side in SLOW else ("collect", "produce")
        with client_servers.running(side, session.data / side, TOPIC) as server:
            return [run_program(session, side, action, server, case.body, count) for action in actions]

    session.alternate(case.name, turns_of(turn, SIDES), clean=SIDES)


def consume(session: Session, case: Case) -> None:
    """Read what was written before."""
    count = session.amount(2_000_000 if case.body <= 128 else 1_000_000, 20_000)

    def turn(side: str) -> list[Figures]:
        with client_servers.running(side, session.data / side, TOPIC) as server:
            if side == "kafka":
                run_program(session, side, "produce", server, case.body, count // 2)
            else:
                fill = {"mode": "send", "batch": 32, "count": count, "consumable": True}
                measured(server.broker, "fill", topic=TOPIC, body_bytes=case.body, **fill)
            return [run_program(session, side, "consume", server, case.body, count)]

    session.alternate(case.name, turns_of(turn, SIDES), clean=SIDES)


def sizes(session: Session, case: Case) -> None:
    """Compare what an installation brings, and how long an import takes."""

    def turn(side: str) -> list[Figures]:
        return [footprint.of(side, session.data / f"{side}-footprint")]

    session.alternate(case.name, turns_of(turn, SIDES), clean=tuple(f"{side}-footprint" for side in SIDES))


CASES = (
    Case("client-produce-128", "Python clients send 128 B", 8, produce, body=128),
    Case("client-produce-1k", "Python clients send 1 KiB", 8, produce, body=1024),
    Case("client-consume-128", "Python clients read 128 B", 4, consume, body=128),
    Case("client-consume-1k", "Python clients read 1 KiB", 6, consume, body=1024),
    Case("client-footprint", "wheels, packages and import time of Python clients", 1, sizes),
)
