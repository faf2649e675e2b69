"""Returns to a list as it was left: its filters, order and page go along in a record's addresses.

They go as `back`, which holds a query and never an address, so it always leads to the same list.
"""

from typing import Final
from urllib.parse import parse_qs, parse_qsl, urlencode

from quart import request

from ostiary_web.application.resources.lists import query_arguments

HOME: Final = "/"
"""Address that a visitor who may see no list returns to."""

_BACK: Final = "back"
_LONGEST: Final = 2_000
_MOST_PARAMETERS: Final = 60


def address_of_list(place: str) -> str:
    """Return the address of the list at `place` as it was left, or its first page."""
    query = _query()
    return f"{place}?{query}" if query else place


def list_arguments() -> dict[str, list[str]]:
    """Return the parameters of the list that a request is about: those of `back`, else its own."""
    return parse_qs(_query()) if _BACK in request.args else query_arguments()


def with_list_query(address: str, query: str | None = None) -> str:
    """Return `address` with a list's query to return to: `query`, or this request's own."""
    query = _query() if query is None else query
    if not query or len(query) > _LONGEST:
        return address
    return f"{address}{'&' if '?' in address else '?'}{urlencode({_BACK: query})}"


def _query() -> str:
    given = request.args.get(_BACK, "")
    try:
        return urlencode(parse_qsl(given[: _LONGEST + 1], max_num_fields=_MOST_PARAMETERS, errors="strict"))
    except ValueError:
        return ""
