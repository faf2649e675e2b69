"""Plots, drawn by hand: no library, one file each, readable without colours."""

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Final
from xml.sax.saxutils import escape

from docs.bench.cells import BARE_ASGI, LANE, PLAIN
from docs.bench.findings import Findings, Measured
from docs.bench.workloads import OPERATIONS

_WIDTH: Final = 720
_LEFT: Final = 190
_RIGHT: Final = 90
_ROW: Final = 22
_LATENCIES: Final = ("introspect", "credentials", "refresh")
_GREEN: Final = "#2f6f4f"
_GREY: Final = "#8aa39a"
_RED: Final = "#b33"


def ratios(findings: Findings) -> str | None:
    """A bar for each server and operation: its requests for the CPU of one on bare ASGI."""
    floor = findings.find(BARE_ASGI.name, "fixed")
    beside = [here for here in findings.beside if floor and here.connections == floor.connections]
    groups = [
        (operation, rows)
        for operation in OPERATIONS
        if (rows := [here for here in beside if here.operation == operation])
    ]
    if not floor or not groups:
        return None
    most = max(floor.cost / here.cost for _, rows in groups for here in rows)
    scale = (_WIDTH - _LEFT - _RIGHT) / max(most, 1.0)
    parts: list[str] = []
    y = 30.0
    for operation, rows in groups:
        parts.append(_text(_LEFT, y + 14, operation, "class='head'"))
        y += _ROW
        for here in sorted(rows, key=lambda here: here.cost):
            times = floor.cost / here.cost
            parts += [
                _text(_LEFT - 8, y + 14, here.cell, "text-anchor='end'"),
                _box(_LEFT, y + 2, times * scale, 16, _colour(here.cell)),
                _text(_LEFT + times * scale + 6, y + 14, f"{times:.2f}×"),
            ]
            y += _ROW
        y += 6
    x = _LEFT + scale
    parts.append(_line(x, 30, x, y, _RED))
    return _svg("Requests for the CPU of one on bare ASGI", y + 8, parts)


def latency_by_connections(findings: Findings) -> str | None:
    """From the median to the 99th percentile, for every server at every number of connections."""
    rows = [here for here in findings.beside if here.operation in _LATENCIES]
    if not rows:
        return None
    low = min(median(here.p50_ms) for here in rows)
    high = max(median(here.p99_ms) for here in rows)
    # With room for the dots on the left and for the figures on the right.
    axis = _Logarithmic(low / 1.3, high * 4)
    parts: list[str] = []
    y = 30.0
    for operation in _LATENCIES:
        for connections in sorted({here.connections for here in rows}):
            of_these = [
                here for here in rows if (here.operation, here.connections) == (operation, connections)
            ]
            if not of_these:
                continue
            at_once = "1 connection" if connections == 1 else f"{connections} connections"
            parts.append(_text(_LEFT, y + 14, f"{operation}, {at_once}", "class='head'"))
            y += _ROW
            for here in of_these:
                p50, p99 = median(here.p50_ms), median(here.p99_ms)
                colour = _colour(here.cell)
                parts += [
                    _text(_LEFT - 8, y + 14, here.cell, "text-anchor='end'"),
                    _box(axis.at(p50), y + 7, max(axis.at(p99) - axis.at(p50), 1), 6, colour),
                    f'<circle cx="{axis.at(p50):.1f}" cy="{y + 10:.1f}" r="5" fill="{colour}"/>',
                    _text(axis.at(p99) + 6, y + 14, f"{_figure(p50)} to {_figure(p99)}"),
                ]
                y += _ROW
            y += 6
    return _svg("Milliseconds from p50 (the dot) to p99, logarithmic", y + 24, [*axis.grid(30, y), *parts])


def cost_by_sessions(findings: Findings) -> str | None:
    """A line for each operation: its CPU as the store grows, the smallest store being one."""
    if not findings.sizes:
        return None
    operations = [name for name in OPERATIONS if any(here.operation == name for here in findings.sizes)]
    lines = {name: _by_sessions(findings.sizes, name) for name in operations}
    sizes = sorted({here.sessions for here in findings.sizes})
    axis = _Logarithmic(sizes[0], sizes[-1])
    top, bottom = 40.0, 300.0
    most = max(2.0, *(rows[-1].cost / rows[0].cost for rows in lines.values()))

    def height(times: float) -> float:
        return bottom - (bottom - top) * times / most

    parts = [_text(axis.at(size), bottom + 18, f"{size:,}", "text-anchor='middle'") for size in sizes]
    for times in (0.0, 0.5, 1.0, 1.5, 2.0):
        colour = _RED if times == 1.5 else "#ddd"
        parts.append(_line(_LEFT, height(times), _WIDTH - _RIGHT, height(times), colour))
        parts.append(_text(_LEFT - 8, height(times) + 4, f"{times:g}×", "text-anchor='end'"))
    label_at = bottom
    for name, rows in sorted(lines.items(), key=lambda line: line[1][-1].cost / line[1][0].cost):
        points = [(axis.at(here.sessions), height(here.cost / rows[0].cost)) for here in rows]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{_GREEN}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{_GREEN}"/>' for x, y in points]
        # Names that would lie on one another are moved apart.
        label_at = min(points[-1][1] + 4, label_at - 15)
        parts.append(_text(points[-1][0] + 8, label_at, name))
    return _svg("CPU a request by sessions in the store (the bar: 1.5×)", bottom + 30, parts)


def _by_sessions(group: Sequence[Measured], operation: str) -> list[Measured]:
    rows = [here for here in group if here.operation == operation]
    return sorted(rows, key=lambda here: here.sessions)


class _Logarithmic:
    """A horizontal axis."""

    def __init__(self, low: float, high: float) -> None:
        self._low = math.log10(low)
        self._width = max(math.log10(high) - self._low, 1e-9)

    def at(self, value: float) -> float:
        return _LEFT + (math.log10(value) - self._low) / self._width * (_WIDTH - _LEFT - _RIGHT)

    def grid(self, top: float, bottom: float) -> Iterator[str]:
        """A line at every power of ten."""
        for power in range(math.ceil(self._low), math.floor(self._low + self._width) + 1):
            x = self.at(10.0**power)
            yield _line(x, top, x, bottom, "#ddd")
            yield _text(x, bottom + 16, f"{10.0**power:g} ms", "text-anchor='middle'")


def _figure(milliseconds: float) -> str:
    return f"{milliseconds:.0f}" if milliseconds >= 100 else f"{milliseconds:.2g}"


def _colour(cell: str) -> str:
    return _GREEN if cell in (LANE.name, PLAIN.name) else _GREY


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(text)}</text>'


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.0f}" fill="{colour}"/>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" role="img">',
        "<style>text { font: 13px sans-serif } .head { font-weight: bold }</style>",
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height:.0f}" fill="#fff"/>',
        _text(8, 18, title, "class='head'"),
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
