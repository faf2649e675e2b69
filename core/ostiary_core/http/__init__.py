"""The rules in HTTP, without any I/O: from requests to events, and from decisions to answers.

What is named here is for embedders (docs/embedding.md); every other module of this package may move.
"""

from ostiary_core.http.answer import Answer
from ostiary_core.http.endpoint import PendingRequest, Request, TokenEndpoint
from ostiary_core.http.form import LONGEST_FORM
from ostiary_core.http.sender import Sender, sender_of
from ostiary_core.throttling.rate_windows import Operation, RateWindows

__all__ = [
    "LONGEST_FORM",
    "Answer",
    "Operation",
    "PendingRequest",
    "RateWindows",
    "Request",
    "Sender",
    "TokenEndpoint",
    "sender_of",
]
