"""`python -m fuzz failover`: mishaps of a real cluster under Patroni with instances of Ostiary on it.

Each instance reaches the database in another way: by an address with all hosts, through HAProxy, and through
HAProxy and a PgBouncer that lends connections for a session or for a transaction. Tenants send requests to
all instances in turn while the cluster, the network or an instance meets a mishap (`mishaps`). Every
acknowledged change must be visible at every instance. Every other request ends in 500, 503 or no answer, and
its outcome is determined afterwards.

For each mishap the campaign prints how long the database accepted no change, by a client that asks each node
all the time, and for how much longer an instance accepted none.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from random import Random
from statistics import median
from typing import Final

import trio

from fuzz.processes.availability import DatabaseProbe, InstanceProbe
from fuzz.processes.cluster import Cluster, run_cluster
from fuzz.processes.failures import InvariantBroken, fail
from fuzz.processes.faults import faults_of
from fuzz.processes.leaks import look_for_secrets
from fuzz.processes.mishaps import MISHAPS, Scene
from fuzz.processes.programs import NotWell
from fuzz.processes.server import NotServing, Server
from fuzz.processes.tenant import Tenant
from fuzz.processes.tenants import Tenants, describe_outcomes
from fuzz.shared.campaign import Report, choose_names, command, conduct, draw_names
from fuzz.shared.http_client import basic
from fuzz.shared.selftest import SEED, run_selftest

_TENANTS: Final = 6
_ROUNDS_A_TENANCY: Final = 8
"""Number of rounds before new tenants take over: a sign-in lasts for half an hour."""
_WELL_SECONDS: Final = 90.0
_SETTLING_SECONDS: Final = 10.0
"""Seconds after the database is back in which a turn that began before may still commit."""
_BY: Final = "by "
"""Prefix of a route's name in the measurements of its instance's extra delay."""

_SHOWING: Final = ("commits ended", "primary lost unheard", *(3 * ["commits ended"]))
"""Mishaps of the selftest's runs.

The first shows the planted mistakes in nearly all runs; the second shows that a change was acknowledged by
one node alone.
"""


class Campaign:
    """One cluster, its instances and tenants, for one mishap after another."""

    def __init__(self, cluster: Cluster, servers: Sequence[Server], seed: int, options: list[str]) -> None:
        """Create a campaign; `options` are those that make the same cluster again."""
        self._cluster, self._servers, self._options = cluster, servers, options
        self._seed = seed
        self._tenants: Tenants | None = None
        self._machine = ("", "")
        self._report = Report()
        self._over_at = 0.0
        """End of the mishap by `time.monotonic`; infinity during one."""
        self._probe: DatabaseProbe | None = None

    def meet(self, number: int, name: str) -> Report:
        """Let one mishap happen under load and return its report."""
        self._report = report = Report(counts=Counter(mishaps=1))
        try:
            self._cluster.wait_until_well(_WELL_SECONDS)
            trio.run(self._meet, number, name)
        except* (InvariantBroken, NotWell, NotServing) as group:
            again = command("failover", *self._options, "--seed", self._seed, "--mishap", name)
            head = f"as mishap {number + 1} of seed {self._seed}: {name}"
            fail(report, group, head, f"its logs:   {self._cluster.folder}-logs", f"once more:  {again}")
        return report

    async def _meet(self, number: int, name: str) -> None:
        report = self._report
        random = Random(f"failover {self._seed}/{number}")
        scene = Scene(self._cluster, self._servers, random)
        tenants = await self._find_tenants(number)
        self._over_at = 0.0
        self._probe = probe = DatabaseProbe(self._cluster.nodes)
        probes = [InstanceProbe(server.port, basic(*self._machine)) for server in self._servers]
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(tenants.keep_acting, self._may_ask)
                for each, server in zip(probes, self._servers, strict=True):
                    nursery.start_soon(each.run)
                    nursery.start_soon(tenants.keep_watching, server, Random(server.port))
                await trio.sleep(random.uniform(1, 2))
                tenants.note_mishap()
                tenants.log(f"({name})")
                self._over_at = math.inf
                await trio.to_thread.run_sync(MISHAPS[name], scene)
                self._over_at = time.monotonic()
                tenants.log(f"({name}: over)")
                made_anew = await trio.to_thread.run_sync(self._cluster.wait_until_well, _WELL_SECONDS)
                tenants.note_mishap()
                await tenants.wait_until_checked()
                nursery.cancel_scope.cancel()
        finally:
            probe.stop()
            tenants.close()
        logs = (*self._cluster.folder.glob("*.log"), *(server.log for server in self._servers))
        look_for_secrets(logs, tenants.ledger.secrets)
        outages = probe.outages()
        away = max((until - since for since, until in outages), default=0.0)
        beyond = {
            route: each.measure_extra_delay(outages)
            for route, each, server in zip(self._cluster.routes, probes, self._servers, strict=True)
            if server is not scene.victim
        }
        slowest = tenants.ledger.slowest
        report.samples |= {
            f"{name}/away": [away],
            f"{name}/beyond": [max(beyond.values())],
            f"{name}/slowest": [slowest],
            **{f"{_BY}{route}": [seconds] for route, seconds in beyond.items()},
        }
        report.line = (
            f"{number + 1:>4} {name:<32} away {away:4.1f} s, beyond {max(beyond.values()):4.1f} s, "
            f"slowest {slowest:4.1f} s; 500: {report.counts['500']}, none: {report.counts['lost']}; "
            f"{report.tables['acknowledged'].total()} kept"
            + "".join(f"; {each} made anew" for each in made_anew)
        )

    async def _find_tenants(self, number: int) -> Tenants:
        """Return the present tenants, or new ones if these lived here long enough."""
        if self._tenants is not None and number % _ROUNDS_A_TENANCY:
            self._tenants.report_to(self._report)
            return self._tenants
        generation = number // _ROUNDS_A_TENANCY
        numbers = range(generation * _TENANTS, (generation + 1) * _TENANTS)
        self._tenants = tenants = Tenants(f"{self._seed}/{number}", numbers, self._servers, self._report)
        await tenants.move_in()
        self._machine = await tenants.register_machine(f"machine-{generation}")
        return tenants

    async def _may_ask(self, tenant: Tenant) -> None:
        """Wait while an unanswered change may still commit, as reading cannot decide it then."""
        pending = tenant.pending
        if pending is None or pending.may_be_sent_again:
            return
        assert self._probe is not None
        while True:
            settled_at = max(self._over_at, pending.since) + _SETTLING_SECONDS
            if time.monotonic() > settled_at and self._probe.has_kept_since(settled_at):
                return
            await trio.sleep(0.05)


def run(seed: int, rounds: int, seconds: float, mishaps: Sequence[str], strict: bool, debian: bool) -> int:
    """Let so many mishaps happen, for at most so many seconds; return 0 if nothing was lost."""
    names = choose_names("mishap", mishaps, MISHAPS)
    print(f"seed {seed}, {rounds:,} mishaps", flush=True)
    runs = run_mishaps(seed, rounds, names, strict=strict, debian=debian)
    return conduct(runs, _figures, most_seconds=seconds)


def run_mishaps(
    seed: int, rounds: int, mishaps: Sequence[str], *, strict: bool, debian: bool
) -> Iterator[Report]:
    """Yield the reports of mishaps on one cluster, each equally often, in an order from the seed."""
    try:
        with _open_campaign(seed, strict=strict, debian=debian) as campaign:
            drawn = draw_names(mishaps, Random(f"failover {seed}"))
            for number, name in zip(range(rounds), drawn, strict=False):
                yield campaign.meet(number, name)
    except (NotWell, NotServing) as error:
        report = Report()
        fail(report, error, "before any mishap: the cluster or an instance on it does not come up")
        yield report


@contextmanager
def _open_campaign(seed: int, *, strict: bool = False, debian: bool = False) -> Iterator[Campaign]:
    """Start a new cluster with an instance for each route."""
    with run_cluster(strict=strict, debian=debian) as cluster, ExitStack() as stack:
        print(f"  {cluster.patroni}, in three members", flush=True)
        servers = []
        for number, address in enumerate(cluster.routes.values()):
            folder = cluster.folder / f"instance-{number}"
            folder.mkdir()
            server = Server(folder, settings={"DATABASE_URL": address}, end_too=cluster.keeper.end_too)
            servers.append(stack.enter_context(server))
            server.start_and_wait()
        options = [*(["--strict"] if strict else []), *(["--debian"] if debian else [])]
        yield Campaign(cluster, servers, seed, options)


def selftest(only: str) -> int:
    """Plant the known mistakes in the instances; return 0 if none survives."""
    return run_selftest(only, faults_of("failovers"), run_planted, len(_SHOWING))


def run_planted(number: int) -> Report:
    """Run one mishap of the selftest's own seed on a cluster of its own."""
    with _open_campaign(SEED, debian=True) as campaign:
        return campaign.meet(0, _SHOWING[number])


def _figures(total: Report, seconds: float) -> str:
    head = f"{'':<34}{'times':>6}  database away (median, longest)  instances beyond  slowest answer"
    lines = [*describe_outcomes(total), head]
    for name in sorted(name for name in MISHAPS if f"{name}/away" in total.samples):
        away, beyond, slowest = (total.samples[f"{name}/{what}"] for what in ("away", "beyond", "slowest"))
        lines.append(
            f"  {name:<32}{len(away):>6}  {median(away):>8.1f} s {max(away):>8.1f} s"
            f"{median(beyond):>16.1f} s {max(beyond):>6.1f} s{max(slowest):>10.1f} s"
        )
    for route in sorted(each for each in total.samples if each.startswith(_BY)):
        beyond = total.samples[route]
        lines.append(f"  {route:<32}{len(beyond):>6}{median(beyond):>39.1f} s {max(beyond):>6.1f} s")
    return "\n".join([*lines, f"{total.counts['mishaps']:,} mishaps"])
