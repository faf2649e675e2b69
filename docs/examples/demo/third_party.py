"""The demonstration's third-party backend: one page, and a button for each thing such a backend does."""

import hmac
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from quart import Response, abort, redirect, render_template, request
from quart_trio import QuartTrio

from demo.protocol import Authorization, OAuthClient, Sent, moment, shortened
from demo.sample import PASSWORD
from demo.texts import add_texts
from ostiary_core.texts import Language, Languages
from ostiary_web.http.browser import is_cross_site
from ostiary_web.http.security_headers import add_security_headers
from ostiary_web.texts import TextFamily

_MOST_SHOPPERS: Final = 1_000
_LONGEST_LOG: Final = 12
_GRACE_SECONDS: Final = 30
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@dataclass(slots=True)
class _Shopper:
    """What the backend keeps of one browser, on its own side."""

    authorization: Authorization | None = None
    access_token: str | None = field(default=None, repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    spent_token: str | None = field(default=None, repr=False)
    spent_at: float = 0.0
    machine_token: str | None = field(default=None, repr=False)
    name: str | None = None
    notice: str | None = None
    log: list[Sent] = field(default_factory=list)

    def sent(self, sent: Sent, note: str = "") -> None:
        self.log.insert(0, Sent(sent.what, sent.request, sent.status, sent.answer, note))
        del self.log[_LONGEST_LOG:]


def third_party(oauth: OAuthClient, server: str, languages: Languages) -> QuartTrio:
    """Return the backend as a Quart-Trio application; `server` is where its users find Ostiary."""
    # The server's styles, which are in its package; the page is our own.
    app = QuartTrio("ostiary_web", static_folder="static", template_folder=str(Path(__file__).parent))
    languages = add_texts(languages)
    shoppers: dict[str, _Shopper] = {}
    # Browsers give cookies to every port of a host (RFC 6265 §8.5): another demonstration has another name.
    cookie = f"demo_shop_{urlsplit(oauth.redirect_uri).port}"
    app.after_request(add_security_headers)

    @app.before_request
    async def only_from_here() -> None:
        """Another site's form would start a sign-in that nobody asked for, and take the shopper's place."""
        if request.method == "POST" and is_cross_site(f"{request.scheme}://{request.host}"):
            abort(403)

    def shopper() -> _Shopper | None:
        return shoppers.get(request.cookies.get(cookie, ""))

    def language() -> Language:
        return languages.negotiate(request.headers.get("Accept-Language"))

    def text(key: str, /, **values: object) -> str:
        return language().text(key, **values)

    @app.get("/")
    async def shop() -> Response:
        found = shopper() or _Shopper()
        tokens = [
            (text(key), shortened(token), await _state(oauth, token, text))
            for key, token in (
                ("demo.access_token", found.access_token),
                ("demo.refresh_token", found.refresh_token),
                ("demo.machine_token", found.machine_token),
            )
            if token is not None
        ]
        if found.spent_token is not None:
            used, ends = moment(found.spent_at), moment(found.spent_at + _GRACE_SECONDS)
            state = text("demo.grace", used=used, ends=ends)
            tokens.append((text("demo.spent_token"), shortened(found.spent_token), state))
        notice, found.notice = found.notice, None
        body = await render_template(
            "shop.html",
            language=language().tag,
            t=TextFamily(language(), "demo"),
            text=text,
            shopper=found,
            tokens=tokens,
            notice=notice,
            server=server,
            password=PASSWORD,
        )
        response = Response(body, content_type="text/html; charset=utf-8")
        response.headers["Cache-Control"] = "no-store"
        response.headers["Content-Security-Policy"] = f"{_POLICY}; form-action 'self' {server}"
        return response

    @app.post("/start")
    async def start() -> Any:
        key = secrets.token_urlsafe(24)
        while len(shoppers) >= _MOST_SHOPPERS:
            del shoppers[next(iter(shoppers))]
        shoppers.pop(request.cookies.get(cookie, ""), None)
        shoppers[key] = _Shopper(authorization=Authorization())
        authorization = shoppers[key].authorization
        assert authorization is not None
        address = oauth.address_to_ask_at(authorization)
        request_line = unquote(address.removeprefix(server)).replace("?", "\n").replace("&", "\n")
        shoppers[key].sent(Sent("sso", f"GET {request_line}", 303, "", text("demo.led")))
        response = redirect(address, 303)
        response.set_cookie(cookie, key, httponly=True, samesite="Lax")
        return response

    @app.get("/callback")
    async def callback() -> Any:
        found = shopper()
        authorization = None if found is None else found.authorization
        given = request.args.get("state", "")
        if (
            found is None
            or authorization is None
            or not hmac.compare_digest(authorization.state.encode(), given.encode("utf-8", "replace"))
        ):
            if found is not None:
                found.notice = text("demo.wrong_state")
            return redirect("/", 303)
        found.authorization = None
        if "code" not in request.args:
            found.notice = text("demo.denied")
            return redirect("/", 303)
        sent, content = await oauth.redeem(request.args["code"], authorization)
        found.sent(sent)
        found.access_token, found.refresh_token = content.get("access_token"), content.get("refresh_token")
        if found.access_token is not None:
            await _read_profile(oauth, found)
        return redirect("/", 303)

    @app.post("/do/<action>")
    async def act(action: str) -> Any:
        found = shopper()
        if found is None:
            return redirect("/", 303)
        match action:
            case "refresh" if found.refresh_token is not None:
                await _refresh(oauth, found, found.refresh_token, text)
            case "retry" if found.spent_token is not None:
                await _retry(oauth, found, found.spent_token, None, text)
            case "steal" if found.spent_token is not None:
                await _retry(oauth, found, found.spent_token, "curl/8.0 (somebody else)", text)
            case "userinfo" if found.access_token is not None:
                await _read_profile(oauth, found)
            case "machine":
                sent, content = await oauth.machine_token()
                found.sent(sent)
                found.machine_token = content.get("access_token")
            case "revoke" if found.access_token is not None:
                sent, _ = await oauth.revoke(found.access_token)
                found.sent(sent, text("demo.ended"))
            case _:
                pass
        return redirect("/", 303)

    return app


async def _read_profile(oauth: OAuthClient, found: _Shopper) -> None:
    sent, content = await oauth.userinfo(found.access_token or "")
    found.sent(sent)
    found.name = (content.get("data") or {}).get("name") or found.name


async def _refresh(oauth: OAuthClient, found: _Shopper, token: str, text: Any) -> None:
    sent, content = await oauth.refresh(token)
    if "access_token" not in content:
        found.sent(sent)
        return
    found.sent(sent, text("demo.new_pair"))
    found.spent_token, found.spent_at = token, time.time()
    found.access_token, found.refresh_token = content["access_token"], content.get("refresh_token")


async def _retry(oauth: OAuthClient, found: _Shopper, token: str, user_agent: str | None, text: Any) -> None:
    sent, content = await oauth.refresh(token, user_agent)
    same = content.get("access_token") == found.access_token
    found.sent(sent, text("demo.same_pair") if same else text("demo.ended"))


async def _state(oauth: OAuthClient, token: str, text: Any) -> str:
    _, content = await oauth.introspect(token)
    if not content.get("active"):
        return str(text("demo.inactive"))
    return str(text("demo.active", until=moment(content["exp"])))
