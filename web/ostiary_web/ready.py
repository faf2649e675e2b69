"""Ask the server on this machine whether it is ready, at the addresses of `BIND`.

`python -m ostiary_web.ready` is the health check of containers, which runs every few seconds: it imports
nothing of the server. It goes past any HTTP_PROXY, which is for the gateway of text messages.
"""

import http.client
import os
import socket
import sys
from typing import Final

_DEFAULT: Final = "127.0.0.1:8000"
_SECONDS: Final = 5.0
_THIS_MACHINE: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (asked, not opened)
"""Where a server is asked that listens on every address."""


def main() -> None:
    """End with 0 if an address of `BIND` answers that the server is ready, else with one line and 1."""
    reasons = []
    for address in map(str.strip, os.environ.get("BIND", _DEFAULT).split(",")):
        if address.startswith("fd://") or address.endswith(":0"):
            reasons.append(f"{address} does not say where it listens")
            continue
        try:
            status = _ask(address)
        except (OSError, ValueError, http.client.HTTPException) as error:
            reasons.append(f"{address}: {error}")
            continue
        if status == 200:
            return
        reasons.append(f"{address} answers {status}")
    sys.exit(f"ostiary: not ready: {'; '.join(reasons)}")


def _ask(address: str) -> int:
    connection = http.client.HTTPConnection("localhost")
    connection.sock = _connect(address)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status
    finally:
        connection.close()


def _connect(address: str) -> socket.socket:
    if address.startswith("unix:"):
        caller = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        caller.settimeout(_SECONDS)
        caller.connect(address.removeprefix("unix:"))
        return caller
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    return socket.create_connection((_THIS_MACHINE.get(host, host), int(port)), _SECONDS)


if __name__ == "__main__":
    main()
