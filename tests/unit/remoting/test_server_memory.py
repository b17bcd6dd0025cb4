"""Ten thousand clients that say little must cost little."""

import resource
import subprocess
import sys
from pathlib import Path

from tests.unit.remoting.raw import serving, until

CLIENTS = 10_000
IDLERS = """
import resource, socket, sys
from tailfin.wire import frame
port, count = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
heartbeat = frame.encode(frame.Frame(code=34, body=b"x" * 2000))
clients = []
for n in range(count):
    clients.append(socket.create_connection(("127.0.0.1", port)))
    clients[-1].sendall(heartbeat)
for client in clients:
    assert client.recv(1)
print("idle", flush=True)
sys.stdin.read()
"""


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_ten_thousand_idle_connections_cost_little_memory() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard >= CLIENTS + 500, f"the machine allows {hard} open files; raise it with ulimit -Hn"
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, CLIENTS + 500), hard))
    with serving() as served:
        before = resident_bytes()
        command = [sys.executable, "-c", IDLERS, str(served.port), str(CLIENTS)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as idlers:
            assert idlers.stdout
            assert idlers.stdout.readline() == b"idle\n"
            assert served.server.connections() == CLIENTS
            served.requests.clear()
            served.events.clear()
            cost = resident_bytes() - before
            idlers.communicate()
        until(lambda: served.server.connections() == 0)
    assert cost < 100 << 20, f"{cost} bytes"
