"""The way back to a list as it was: its filters, order and page go along with the addresses of a record.

They go as `back`, which is a query and never an address: whatever it says, it leads to the same list.
"""

from typing import Final
from urllib.parse import parse_qsl, urlencode

from quart import request

HOME: Final = "/"
"""Where who may see no list comes back to."""

_BACK: Final = "back"
_LONGEST: Final = 2_000
_MOST_PARAMETERS: Final = 60


def address_of_list(place: str) -> str:
    """The list at `place` as it was left, or as it begins where the request does not say."""
    query = _query()
    return f"{place}?{query}" if query else place


def with_way_back(address: str, query: str | None = None) -> str:
    """`address` with the way back to a list that was asked for by `query`, or with that of this request."""
    query = _query() if query is None else query
    if not query or len(query) > _LONGEST:
        return address
    return f"{address}{'&' if '?' in address else '?'}{urlencode({_BACK: query})}"


def with_done_notice(address: str) -> str:
    """The address of a page that says that what was asked for is done (`PageContext.done_notice`)."""
    return f"{address}{'&' if '?' in address else '?'}done=1"


def _query() -> str:
    given = request.args.get(_BACK, "")
    try:
        return urlencode(parse_qsl(given[: _LONGEST + 1], max_num_fields=_MOST_PARAMETERS, errors="strict"))
    except ValueError:
        return ""
