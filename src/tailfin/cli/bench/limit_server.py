"""Serve sends and pulls as cheaply as a server can, to see how near a broker is to the machine's limit.

It decodes each frame, copies the body into a mapped file and says yes; it stores nothing, and a pull gets
the messages of the last batch again and again. Drive it with tailfin bench send and pull and compare with the
same run against a broker. It ends with Ctrl-C or SIGTERM.

Example:
  tailfin bench limit-server --listen 127.0.0.1:10911 &
  tailfin bench send -b 127.0.0.1:10911 --pid $!
"""

import argparse
import signal
import tempfile

from tailfin.load import LimitServer


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument(
        "--listen", default="127.0.0.1:0", metavar="HOST:PORT", help="(default: any free port of loopback)"
    )
    parser.add_argument("--dir", default=tempfile.gettempdir(), help="where the mapped file of 1 GiB lies")


def run(args: argparse.Namespace) -> int:
    """Serve until it is told to stop."""
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # before there is another thread that could take them
    server = LimitServer(args.listen, args.dir)
    print(f"listening on {server.address}", flush=True)
    signal.sigwait(ends)
    server.stop()
    return 0
