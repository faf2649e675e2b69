"""HAProxy in front of the nodes, and in front of it two PgBouncer, one for each way to lend connections."""

from collections.abc import Sequence

from fuzz.processes.node import PASSWORD, Node
from fuzz.processes.programs import Programs, free_port


class Proxies:
    """They are on none of the nodes' machines."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        network = programs.network

        def address(port: int) -> str:
            # On a network of their own nobody else has the usual ports.
            return f"{network.here}:{port if network.has_cables else free_port()}"

        self.addresses = {
            "HAProxy": address(5000),
            "PgBouncer": address(6432),
            "PgBouncer by transactions": address(6433),
        }

    def start(self, nodes: Sequence[Node]) -> None:
        """Start all three."""
        haproxy, session, transaction = self.addresses.values()
        words = {"127.0.0.1:5000": haproxy}
        for node in nodes:
            server = f"{node.name}.internal:5432 check port 8008"
            words[server] = f"{node.host}:{node.port} check port {node.rest_port}"
        path = self._programs.write("haproxy.cfg", words)
        self._programs.start("haproxy", "-db", "-f", str(path), log="haproxy.log")
        users = self._programs.folder / "userlist.txt"
        users.write_text(f'"ostiary" "{PASSWORD}"\n', encoding="utf-8")
        host, _, port = haproxy.partition(":")
        for pool_mode, address in (("session", session), ("transaction", transaction)):
            own_host, _, own_port = address.partition(":")
            words = {
                "host=127.0.0.1 port=5000": f"host={host} port={port}",
                "listen_addr = 127.0.0.1": f"listen_addr = {own_host}",
                "listen_port = 6432": f"listen_port = {own_port}",
                "pool_mode = session": f"pool_mode = {pool_mode}",
                "/etc/pgbouncer/userlist.txt": str(users),
            }
            folder = f"pgbouncer-{pool_mode}"
            (self._programs.folder / folder).mkdir()
            path = self._programs.write("pgbouncer.ini", words, folder)
            self._programs.start("pgbouncer", str(path), log=f"{folder}/log")
