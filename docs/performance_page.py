"""What was measured, as Markdown for people: the tables, the bars, and the section of docs/performance.md."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from textwrap import fill
from typing import Final

from docs.bench.bars import judge, room_for_two
from docs.bench.cells import BARE_ASGI, LANE, TWO_WORKERS, WORKERS_ASKED_BY
from docs.bench.findings import Findings, Measured, found

REPORT: Final = "measured.json"
_BEGIN: Final = "<!-- written by `python -m docs.bench --write` -->\n"
_END: Final = "<!-- end of what is written -->\n"
_CONNECTIONS: Final = 32


def beside_table(findings: Findings) -> str:
    """The servers side by side, at 32 connections."""
    lines = [
        "| server | operation | CPU µs | × ASGI | req/s | p50 ms | p99 | p99.9 | MiB |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    floor = findings.find(BARE_ASGI.name, "fixed")
    for here in findings.beside:
        if here.connections != _CONNECTIONS:
            continue
        times = f"{floor.cost / here.cost:.2f}" if floor else ""
        lines.append(
            f"| {here.cell} | {here.operation} | {here.cost:.0f} | {times} | {here.rate:.0f}"
            f" | {_latencies(here)} | {here.resident_mib:.0f} |"
        )
    return _joined(lines)


def bars_table(findings: Findings) -> str:
    """Each bar, what was seen, and whether it was met."""
    lines = ["| Bar | Asked | Seen | |", "|---|---:|---:|---|"]
    for bar in judge(findings):
        bound = "at least" if bar.at_least else "at most"
        seen = "" if bar.seen is None else f"{bar.seen:.3g}"
        lines.append(f"| {bar.what} | {bound} {bar.asked:g} {bar.unit} | {seen} | {bar.verdict} |")
    return _joined(lines)


def measured_section(findings: Findings) -> str:
    """Everything, for the page; its JSON lies in `performance/`."""
    parts = [_where(findings), bars_table(findings)]
    parts.append(f"{_CONNECTIONS} connections, {_sessions(findings):,} sessions in the store:\n")
    parts.append(beside_table(findings))
    parts.append("One connection, and many:\n")
    parts.append(_connections_table(findings))
    if findings.sizes:
        parts.append("This server by the sessions in its store, CPU µs a request at 32 connections:\n")
        parts.append(_sizes_table(findings))
    if findings.workers:
        parts += [_workers_words(findings), _workers_table(findings)]
    if findings.postgres:
        parts += [_postgres_words(findings), _postgres_table(findings)]
    parts.append("Space of the sessions, each with a pair of tokens, before the first request:\n")
    parts.append(_stored_table(findings))
    if idle := findings.idle:
        each = (idle.resident_mib - idle.empty_mib) / idle.connections * 1024
        parts.append(
            _paragraph(
                f"{idle.connections:,} idle connections, each answered once through the lane:"
                f" {idle.resident_mib:.0f} MiB, {each:.1f} KiB each over {idle.empty_mib:.0f} MiB. The"
                f" slowest of a hundred introspections beside them took {idle.slowest_ms:.0f} ms, and"
                f" {idle.slowest_beside_torn_ms:.0f} ms with a client that had stopped in the middle of its"
                " request."
            )
        )
    if findings.crowded:
        parts += [
            "One client's introspections beside callers who pipeline requests without a token and a pause:\n",
            _crowded_table(findings),
        ]
    parts.append(f"[Every round, as JSON](performance/{REPORT}).\n")
    return "\n".join(parts)


def write_report(findings: Findings, folder: Path) -> None:
    """`measured.json` and `measured.md`."""
    _write_json(findings, folder)
    text = measured_section(findings).replace("](performance/", "](")
    (folder / "measured.md").write_text(f"# Measured side by side\n\n{text}")


def write_into_page(findings: Findings, page: Path) -> None:
    """Put it in the place that is marked in the page, and its JSON into the folder beside it."""
    before, _, rest = page.read_text().partition(_BEGIN)
    _, marked, after = rest.partition(_END)
    if not marked:
        raise ValueError(f"{page} has no place marked for what was measured")
    _write_json(findings, page.with_suffix(""))
    page.write_text(f"{before}{_BEGIN}\n{measured_section(findings)}\n{_END}{after}")


def _write_json(findings: Findings, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / REPORT).write_bytes(findings.as_json())


def _where(findings: Findings) -> str:
    machine = findings.machine
    text = f"{machine}; {findings.rounds} rounds of {findings.seconds:g} s."
    if not findings.is_quiet:
        text += (
            f" **The machine was not quiet**: {findings.others:.0%} of it was at other work. Read the ratios"
            " as coarse, and no rate or latency at all."
        )
    for name, reason in findings.left_out.items():
        text += f" {name} could not be installed and is left out: {reason}."
    return _paragraph(text)


def _sessions(findings: Findings) -> int:
    return findings.beside[0].sessions


def _latencies(here: Measured) -> str:
    return " | ".join(f"{median(kept):.2f}" for kept in (here.p50_ms, here.p99_ms, here.p999_ms))


def _connections_table(findings: Findings) -> str:
    numbers = sorted({here.connections for here in findings.beside} - {_CONNECTIONS})
    head = [f"{number}: CPU µs | req/s | p50 ms | p99 | p99.9" for number in numbers]
    lines = [f"| server | operation | {' | '.join(head)} |", "|---|---|" + "---:|" * 5 * len(numbers)]
    for here in findings.beside:
        if here.connections != _CONNECTIONS:
            continue
        rows = [findings.find(here.cell, here.operation, number) for number in numbers]
        cells = [
            f"{row.cost:.0f} | {row.rate:.0f} | {_latencies(row)}" if row else " | | | | " for row in rows
        ]
        lines.append(f"| {here.cell} | {here.operation} | {' | '.join(cells)} |")
    return _joined(lines)


def _sizes_table(findings: Findings) -> str:
    sizes = sorted({here.sessions for here in findings.sizes})
    lines = [
        f"| operation | {' | '.join(f'{size:,}' for size in sizes)} | largest beside smallest |",
        "|---|" + "---:|" * (len(sizes) + 1),
    ]
    for operation in _operations(findings.sizes):
        cost = {here.sessions: here.cost for here in findings.sizes if here.operation == operation}
        shown = " | ".join(f"{cost[size]:.0f}" for size in sizes)
        lines.append(f"| {operation} | {shown} | {cost[sizes[-1]] / cost[sizes[0]]:.2f} × |")
    return _joined(lines)


def _workers_words(findings: Findings) -> str:
    if findings.machine.cores > 2:
        driver = "The driver has a core of its own."
    else:
        driver = (
            "The driver shares these two cores: one worker has a core to itself, two make room for the"
            " driver. The last column is the most that a second worker can bring here: what two cores could"
            " do at what one worker and the driver spend on a request."
        )
    return _paragraph(
        "One worker on one core, and two on two, with one SQLite file, at as many connections as the first"
        f" column says. {driver}"
    )


def _workers_table(findings: Findings) -> str:
    lines = [
        "| at | operation | driver µs | one: µs | req/s | p99 ms | two: µs | req/s | p99 ms | × | room |",
        "|---:|---|" + "---:|" * 9,
    ]
    for connections, operation in product(WORKERS_ASKED_BY, _operations(findings.workers)):
        one = found(findings.workers, LANE.name, operation, connections)
        two = found(findings.workers, TWO_WORKERS.name, operation, connections)
        if not one or not two:
            continue
        shown = " | ".join(
            f"{row.cost:.0f} | {row.rate:.0f} | {median(row.p99_ms):.1f}" for row in (one, two)
        )
        lines.append(
            f"| {connections} | {operation} | {median(one.driver_microseconds):.0f} | {shown}"
            f" | {two.rate / one.rate:.2f} | {room_for_two(findings, one) / one.rate:.2f} |"
        )
    return _joined(lines)


def _postgres_words(findings: Findings) -> str:
    return _paragraph(
        "On SQLite and on PostgreSQL, at as many connections as the first column says. The CPU is the"
        f" server's alone; the database shares the {findings.machine.cores} cores with server and driver, and"
        " the rates show that."
    )


def _postgres_table(findings: Findings) -> str:
    lines = [
        "| at | server | operation | server µs | req/s | p50 ms | p99 | p99.9 |",
        "|---:|---|---|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {here.connections} | {here.cell} | {here.operation} | {here.cost:.0f} | {here.rate:.0f}"
        f" | {_latencies(here)} |"
        for here in findings.postgres
    ]
    return _joined(lines)


def _stored_table(findings: Findings) -> str:
    lines = ["| server | sessions | bytes on disk a session | MiB of memory |", "|---|---:|---:|---:|"]
    for here in findings.stored:
        each = f"{here.disk_bytes / here.sessions:.0f}" if here.disk_bytes else "in memory"
        lines.append(f"| {here.cell} | {here.sessions:,} | {each} | {here.resident_mib:.0f} |")
    return _joined(lines)


def _crowded_table(findings: Findings) -> str:
    lines = [
        "| callers | p50 ms without them | p50 ms | p99 | × | log, KiB/s |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {here.callers} | {here.alone_ms:.2f} | {here.beside_ms:.2f} | {here.beside_p99_ms:.2f}"
        f" | {here.ratio:.1f} | {here.logged_kib_per_second:.0f} |"
        for here in findings.crowded
    ]
    return _joined(lines)


def _operations(group: Sequence[Measured]) -> Iterator[str]:
    yield from dict.fromkeys(here.operation for here in group)


def _paragraph(text: str) -> str:
    return fill(text, width=120, break_long_words=False, break_on_hyphens=False) + "\n"


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"
