"""Hooks of Schemathesis: its credentials, and rules for parameters and files that no schema can express."""

import os
from base64 import b64encode
from pathlib import Path
from typing import Any, Final

import httpx
import schemathesis
from schemathesis.transport.serialization import Binary

from ostiary_web.application.resources.queries import MOST_VALUES

TOKEN_SERVICE: Final = ["/api/oauth2/token", "/api/oauth2/introspect", "/api/oauth2/revoke"]


@schemathesis.auth().skip_for(path=TOKEN_SERVICE)
class Administrator:
    """Signs in, and signs in again when a call has ended the session."""

    def get(self, case: Any, context: Any) -> str:
        credentials = {"username": "admin", "password": os.environ["ADMIN_PASSWORD"]}
        response = httpx.post(os.environ["OSTIARY_ADDRESS"] + "/api/auth/login", json=credentials)
        token: str = response.json()["data"]["accessToken"]
        return token

    def set(self, case: Any, token: str, context: Any) -> None:
        case.headers["Authorization"] = f"Bearer {token}"


@schemathesis.auth().apply_to(path=TOKEN_SERVICE)
class ThirdParty:
    """Authenticates a registered client by HTTP Basic."""

    def get(self, case: Any, context: Any) -> str:
        return b64encode(f"app:{os.environ['CLIENT_SECRET']}".encode()).decode()

    def set(self, case: Any, credentials: str, context: Any) -> None:
        case.headers["Authorization"] = f"Basic {credentials}"


@schemathesis.hook
def filter_query(context: Any, query: dict[str, Any] | None) -> bool:
    """Accept a query if its ranges begin before they end, and if no list is too long only by empty values."""
    asked = query or {}
    return not any(
        name.endswith("From") and value and (end := asked.get(f"{name[:-4]}To")) and str(value) > str(end)
        for name, value in asked.items()
    ) and not any(
        isinstance(value, list) and len(value) > MOST_VALUES >= sum(map(bool, value))
        for value in asked.values()
    )


@schemathesis.hook
def map_body(context: Any, body: Any) -> Any:
    """Send a right picture or sheet in place of a made-up file; the test has written them here."""
    if not isinstance(body, dict) or not isinstance(body.get("file"), Binary):
        return body
    name = context.operation.path.strip("/").replace("/", "-")
    return {**body, "file": Binary(Path(name).read_bytes())}
