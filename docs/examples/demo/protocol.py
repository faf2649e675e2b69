"""The demonstration's OAuth client: what a third-party backend sends, kept for the page to show.

It is a plain client over HTTP and knows nothing of the server it talks to but its address.
"""

import json
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlencode

import httpx

_TOKENS: Final = ("access_token", "refresh_token", "token", "code", "code_verifier")


def shortened(text: str) -> str:
    """A token as it may be shown: enough to tell two apart, not enough to use."""
    return f"{text[:4]}…{text[-4:]}" if len(text) > 12 else "…"


@dataclass(frozen=True, slots=True)
class Sent:
    """One request and its answer, tokens shortened."""

    what: str
    request: str
    status: int
    answer: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Authorization:
    """What is kept between sending a browser to `/sso` and its return."""

    state: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)

    @property
    def challenge(self) -> str:
        """S256 of the verifier (RFC 7636 §4.2)."""
        return urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()


def moment(seconds: float) -> str:
    """A time as people read it, in the zone of this machine."""
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def _plain(name: str, value: object) -> str:
    if name in ("exp", "iat") and isinstance(value, int):
        return f"{value} ({moment(value)})"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class OAuthClient:
    """A confidential client that authenticates by HTTP Basic."""

    def __init__(
        self, http: httpx.AsyncClient, *, client_id: str, secret: str, redirect_uri: str, server: str
    ) -> None:
        self._http = http
        self._basic = httpx.BasicAuth(client_id, secret)
        self._client_id = client_id
        self.redirect_uri = redirect_uri
        self._server = server

    def address_to_ask_at(self, authorization: Authorization) -> str:
        """Where the browser goes to be asked ("GET /sso")."""
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": self.redirect_uri,
            "scope": "user.read",
            "state": authorization.state,
            "code_challenge": authorization.challenge,
            "code_challenge_method": "S256",
        }
        return f"{self._server}/sso?{urlencode(query)}"

    async def redeem(self, code: str, authorization: Authorization) -> tuple[Sent, dict[str, Any]]:
        """A code for a pair of tokens."""
        return await self._post(
            "token",
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": self.redirect_uri,
                "code_verifier": authorization.verifier,
            },
        )

    async def refresh(self, refresh_token: str, user_agent: str | None = None) -> tuple[Sent, dict[str, Any]]:
        """A refresh token for the next pair."""
        form = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return await self._post("token", form, user_agent)

    async def machine_token(self) -> tuple[Sent, dict[str, Any]]:
        """A token that represents no user."""
        return await self._post("token", {"grant_type": "client_credentials"})

    async def introspect(self, token: str) -> tuple[Sent, dict[str, Any]]:
        """Whether a token is good."""
        return await self._post("introspect", {"token": token})

    async def revoke(self, token: str) -> tuple[Sent, dict[str, Any]]:
        """The end of the session that a token belongs to."""
        return await self._post("revoke", {"token": token})

    async def userinfo(self, access_token: str) -> tuple[Sent, dict[str, Any]]:
        """The profile behind an access token."""
        answer = await self._http.get(
            f"{self._server}/api/oauth2/userinfo", headers={"Authorization": f"Bearer {access_token}"}
        )
        shown = f"GET /api/oauth2/userinfo\nAuthorization: Bearer {shortened(access_token)}"
        return self._sent("userinfo", shown, answer)

    async def _post(
        self, operation: str, form: dict[str, str], user_agent: str | None = None
    ) -> tuple[Sent, dict[str, Any]]:
        headers = {} if user_agent is None else {"User-Agent": user_agent}
        answer = await self._http.post(
            f"{self._server}/api/oauth2/{operation}", data=form, auth=self._basic, headers=headers
        )
        fields = {name: shortened(value) if name in _TOKENS else value for name, value in form.items()}
        lines = [f"POST /api/oauth2/{operation}", f"Authorization: Basic {self._client_id}:…"]
        if user_agent is not None:
            lines.append(f"User-Agent: {user_agent}")
        lines += [f"{name}={value}" for name, value in fields.items()]
        return self._sent(operation, "\n".join(lines), answer)

    def _sent(self, what: str, shown: str, answer: httpx.Response) -> tuple[Sent, dict[str, Any]]:
        content: dict[str, Any] = answer.json() if answer.content else {}
        lines = (
            f"{name}: {shortened(str(value)) if name in _TOKENS[:2] else _plain(name, value)}"
            for name, value in content.items()
        )
        return Sent(what, shown, answer.status_code, "\n".join(lines)), content
