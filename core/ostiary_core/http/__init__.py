"""The rules in HTTP, without any I/O: from requests to events, and from decisions to answers.

What is named here is for embedders (docs/embedding.md); every other module of this package may move.
"""

from ostiary_core.http.answer import Answer as Answer
from ostiary_core.http.endpoint import (
    PendingRequest as PendingRequest,
    Request as Request,
    TokenEndpoint as TokenEndpoint,
)
from ostiary_core.http.form import LONGEST_FORM as LONGEST_FORM, FormEncoding as FormEncoding
from ostiary_core.http.sender import Sender as Sender, sender_of as sender_of
from ostiary_core.throttling.rate_windows import Operation as Operation, RateWindows as RateWindows
