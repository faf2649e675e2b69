"""What the rules mean in HTTP, without any I/O: requests to events, decisions to answers."""

from ostiary_core.http.answer import Answer
from ostiary_core.http.endpoint import PendingRequest, Request, TokenEndpoint
from ostiary_core.http.language import Language, preferred_language

__all__ = ["Answer", "Language", "PendingRequest", "Request", "TokenEndpoint", "preferred_language"]
