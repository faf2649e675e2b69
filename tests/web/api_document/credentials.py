"""Hooks of Schemathesis: who it calls as, and what a schema cannot say of parameters and files."""

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
    """Signs in, and again whenever a call has ended the session."""

    def get(self, case: Any, context: Any) -> str:
        credentials = {"username": "admin", "password": os.environ["ADMIN_PASSWORD"]}
        response = httpx.post(os.environ["OSTIARY_ADDRESS"] + "/api/auth/login", json=credentials)
        token: str = response.json()["data"]["accessToken"]
        return token

    def set(self, case: Any, token: str, context: Any) -> None:
        case.headers["Authorization"] = f"Bearer {token}"


@schemathesis.auth().apply_to(path=TOKEN_SERVICE)
class ThirdParty:
    """A registered client, by HTTP Basic."""

    def get(self, case: Any, context: Any) -> str:
        return b64encode(f"app:{os.environ['CLIENT_SECRET']}".encode()).decode()

    def set(self, case: Any, credentials: str, context: Any) -> None:
        case.headers["Authorization"] = f"Basic {credentials}"


@schemathesis.hook
def filter_query(context: Any, query: dict[str, Any] | None) -> bool:
    """A range begins before it ends, and an empty value, which says nothing, is none too many."""
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
    """If a file is sent, it is a picture or a sheet that is right: the test has laid them here."""
    if not isinstance(body, dict) or not isinstance(body.get("file"), Binary):
        return body
    name = context.operation.path.strip("/").replace("/", "-")
    return {**body, "file": Binary(Path(name).read_bytes())}
