"""HAProxy in front of the nodes, and two PgBouncer in front of it, one for each way to lend connections."""

from collections.abc import Sequence

from fuzz.processes.node import PASSWORD, Node
from fuzz.processes.programs import Programs


class Proxies:
    """The proxies, which run on none of the nodes' machines."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._host = host = programs.network.here
        ports = {"HAProxy": 5000, "PgBouncer": 6432, "PgBouncer by transactions": 6433}
        self.addresses = {name: f"{host}:{port}" for name, port in ports.items()}

    def start(self, nodes: Sequence[Node]) -> None:
        """Start all three."""
        words = {"127.0.0.1:5000": self.addresses["HAProxy"]}
        for node in nodes:
            words[f"{node.name}.internal:5432 check port 8008"] = f"{node.host}:5432 check port 8008"
        path = self._programs.write("haproxy.cfg", words)
        self._programs.start("haproxy", "-db", "-f", str(path), log="haproxy.log")
        users = self._programs.folder / "userlist.txt"
        users.write_text(f'"ostiary" "{PASSWORD}"\n', encoding="utf-8")
        for pool_mode, port in (("session", 6432), ("transaction", 6433)):
            words = {
                "host=127.0.0.1 port=5000": f"host={self._host} port=5000",
                "listen_addr = 127.0.0.1": f"listen_addr = {self._host}",
                # Its default socket in /tmp may belong to another cluster.
                "listen_port = 6432": f"listen_port = {port}\nunix_socket_dir =",
                "pool_mode = session": f"pool_mode = {pool_mode}",
                "/etc/pgbouncer/userlist.txt": str(users),
            }
            folder = f"pgbouncer-{pool_mode}"
            (self._programs.folder / folder).mkdir()
            path = self._programs.write("pgbouncer.ini", words, folder)
            self._programs.start("pgbouncer", str(path), log=f"{folder}/log")
