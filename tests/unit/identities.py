"""Certificates for servers and clients that speak TLS in tests."""

import subprocess
from pathlib import Path


def made_identity(folder: Path) -> tuple[Path, Path]:
    """Make a certificate that signs itself; return it and its key."""
    folder.mkdir(exist_ok=True)
    chain, key = folder / "server.pem", folder / "server.key"
    # Not an authority: as one it could not be a client's own certificate as well.
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
        " -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE"
    )
    subprocess.run(
        [*command.split(), "-keyout", str(key), "-out", str(chain)], check=True, capture_output=True
    )
    return chain, key
