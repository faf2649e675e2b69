"""What was measured, as a table for people, JSON for programs, and plots drawn by hand."""

import json
import platform
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from xml.sax.saxutils import escape

from tests.bench.measure import Measured

__all__ = ["machine", "plot", "table", "write_report"]

_FLOOR = "bare ASGI"
_WIDTH, _ROW, _LEFT, _RIGHT = 720, 26, 190, 90


def machine() -> str:
    """The processor, its cores, the interpreter."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "?")
    cores = sum(line.startswith("processor") for line in lines)
    system = f"{platform.system()} {platform.release()}"
    return f"{model}, {cores} cores, {system}, Python {platform.python_version()}"


def ratio(here: Measured, all_of_it: Sequence[Measured]) -> float | None:
    """How many times as much as the floor does with the same CPU, at as many connections."""
    for other in all_of_it:
        if other.cell == _FLOOR and other.connections == here.connections:
            return other.cost / here.cost
    return None


def table(found: Sequence[Measured]) -> str:
    """GitHub's kind of table."""
    lines = [
        "| server | operation | at once | sessions | CPU µs | × ASGI | req/s | p50 ms | p99 | p99.9 | MiB |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for here in found:
        times = ratio(here, found)
        lines.append(
            f"| {here.cell} | {here.operation} | {here.connections} | {here.sessions:,} | {here.cost:.0f}"
            f" | {'' if times is None else f'{times:.2f}'} | {median(here.per_second):.0f}"
            f" | {median(here.p50_ms):.1f} | {median(here.p99_ms):.1f} | {median(here.p999_ms):.1f}"
            f" | {here.resident_mib:.0f} |"
        )
    return "\n".join(lines) + "\n"


def plot(found: Sequence[Measured], title: str) -> str:
    """A bar for every row: how many times the requests of bare ASGI for the same CPU."""
    rows = [(f"{here.cell}, {here.operation}", times) for here in found if (times := ratio(here, found))]
    most = max(times for _, times in rows)
    height = _ROW * (len(rows) + 2)
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        "<style>text { font: 13px sans-serif }</style>",
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="18" font-weight="bold">{escape(title)}</text>',
    ]
    for number, (name, times) in enumerate(rows, start=1):
        y = number * _ROW
        colour = "#2f6f4f" if name.startswith("lane") else "#8aa39a"
        parts += [
            f'<text x="{_LEFT - 8}" y="{y + 17}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{_LEFT}" y="{y + 4}" width="{times * scale:.1f}" height="18" fill="{colour}"/>',
            f'<text x="{_LEFT + times * scale + 6:.1f}" y="{y + 17}">{times:.2f}×</text>',
        ]
    x = _LEFT + scale
    parts += [f'<line x1="{x:.1f}" y1="{_ROW}" x2="{x:.1f}" y2="{height - _ROW}" stroke="#b33"/>', "</svg>"]
    return "\n".join(parts) + "\n"


def write_report(found: Sequence[Measured], folder: Path, title: str) -> None:
    """`measured.json`, `measured.md` and `ratios.svg` in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"machine": machine(), "measured": [here.as_json() for here in found]}
    (folder / "measured.json").write_text(json.dumps(content, indent=1) + "\n")
    (folder / "measured.md").write_text(f"# {title}\n\n{machine()}\n\n{table(found)}")
    beside = [here for here in found if here.connections == 32]
    if any(here.cell == _FLOOR for here in beside):
        (folder / "ratios.svg").write_text(plot(beside, "Requests for the CPU of one on bare ASGI"))
