"""The model's world: clients, users, codes, sessions and tokens; how sessions begin, rotate and end."""

from collections.abc import Iterable

from fuzz.model.records import (
    BASE64URL,
    NOT_SIGNED_IN,
    SECOND_MS,
    SUPER_ADMINISTRATOR,
    Client,
    Code,
    Held,
    Invitation,
    Pair,
    Refusal,
    Scope,
    Session,
    TextCode,
    Ticket,
    User,
    Verdict,
    refuse,
)
from fuzz.shared.calls import Answer, AnswerKind, Call
from fuzz.shared.initial_states import Settings

GRACE_MS = 30 * SECOND_MS
LOGIN_ACCESS_SECONDS = 1_800
LOGIN_SECONDS = 604_800
TOKEN_PREFIX = "ostiary_pat_"
STRANGER = refuse("invalid_client", "client authentication failed")
MUST_CHANGE = refuse("A1004", "the signed-in account must change its password first")
MUST_SET_UP = refuse("A1009", "the signed-in account must set up a second factor first")


class Realm:
    """Everything that exists, with tokens in plain text and without a clock of its own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.before_batch: Realm | None = None
        """State before the current batch began, by which its caller's permissions are judged."""
        self.clients: dict[str, Client] = {}
        self.users: dict[str, User] = {}
        self.roles: dict[str, frozenset[str]] = {}
        """Permissions of each role; without the built-in role."""
        self.text_codes: dict[tuple[bool, str], TextCode] = {}
        """Sent codes, by whether the code is for a new number, and by the number."""
        self.invitations: list[Invitation] = []
        self.tickets: dict[str, Ticket] = {}
        self.codes: dict[str, Code] = {}
        self.sessions: list[Session] = []
        self.tokens: dict[str, Held] = {}

    def authenticate(self, call: Call, now: int) -> Client:
        """Return the client with the presented secret. Raises `Refusal`."""
        client = self.clients.get(call.client_id or "")
        if client is None or client.deleted or not client.enabled or call.secret is None:
            raise Refusal(STRANGER)
        if call.secret == client.secret and now < client.secret_until:
            return client
        if call.secret == client.old_secret and now < client.old_until:
            return client
        raise Refusal(STRANGER)

    def holder_of(self, phone: str | None) -> User | None:
        """Return the user with this telephone number."""
        if phone is None:
            return None
        return next((one for one in self.users.values() if one.phone == phone and not one.deleted), None)

    def refresh(self, held: Held, call: Call, now: int, given: Answer) -> Verdict:
        """Judge a refresh by the client to which the token was issued."""
        session, generation, _ = held
        if session.ended:
            return refuse("invalid_grant", "refresh token revoked")
        if now >= session.until:
            return refuse("invalid_grant", "authorization at its maximum duration")
        wanted = None if not call.scope else frozenset(call.scope)
        too_wide = wanted is not None and not wanted <= session.scope
        latest = len(session.pairs) - 1
        no_pair = refuse("invalid_grant", "less than a whole second before the maximum: no pair is given")
        if generation == latest:
            if session.until - now < SECOND_MS:
                return no_pair
            pair = self.make_pair(session, wanted or session.scope, call, now, given)
            if too_wide:
                pair.scope, pair.access, pair.refresh = session.scope, None, None
            self.add(session, pair)
            if too_wide:
                return refuse("invalid_scope", "scope beyond the original: rotated all the same")
            return Verdict(self.answer_of_session(session, now), "refresh with the current refresh token")
        pair = session.pairs[latest]
        if generation < latest - 1:
            session.ended = True
            return refuse("invalid_grant", "refresh token two or more generations back: session revoked")
        latest_arrival = now - call.waited_ms
        if latest_arrival - call.unseen_ms - pair.made_at > GRACE_MS:
            session.ended = True
            return refuse("invalid_grant", "old refresh token presented after 30 s: session revoked")
        if call.user_agent != pair.made_for:
            session.ended = True
            return refuse("invalid_grant", "old refresh token, different User-Agent: session revoked")
        if session.until - now < SECOND_MS:
            return no_pair
        if latest_arrival - pair.made_at > GRACE_MS:
            return refuse("A0500", "the retry may have come within 30 s or not: a failure, nothing ends")
        if too_wide:
            return refuse("invalid_scope", "too wide a scope again inside the grace harms nothing")
        if pair.access is None:
            pair.access, pair.refresh = self.new(given.access), self.new(given.refresh)
            self.index(session, latest)
        answer = self.answer_of_session(session, now)
        return Verdict(answer, "old refresh token presented within 30 s: the same new pair")

    def find_session(self, login: str | None, now: int) -> Session | None:
        """Return the login or personal access token with this text."""
        held = self.tokens.get(login or "")
        if held is None or not held.is_access or held.session.client is not None or not self.live(held, now):
            return None
        return held.session

    def find_signed_in(self, login: str | None, now: int) -> User | None:
        session = self.find_session(login, now)
        return None if session is None or session.allows is not None else session.user

    def require_login(
        self,
        call: Call,
        now: int,
        *,
        any_password: bool = False,
        any_factor: bool = False,
        by_token: bool = False,
    ) -> User:
        """Return the user of a login, or of a personal access token if `by_token`. Raises `Refusal`.

        A user who must change the password or set up a second factor first is refused, unless `any_password`
        or `any_factor`.
        """
        session = self.find_session(call.login, now)
        if session is None or session.user is None or (session.allows is not None and not by_token):
            raise Refusal(NOT_SIGNED_IN)
        user = session.user
        if user.must_change_password and not any_password:
            raise Refusal(MUST_CHANGE)
        if self.requires_factor(user) and not user.has_factor and not any_factor and not any_password:
            raise Refusal(MUST_SET_UP)
        return user

    def requires_factor(self, user: User) -> bool:
        """Whether the operator requires a second factor of this user."""
        required_of = self.settings.second_factor_of
        is_administrator = any(role == SUPER_ADMINISTRATOR or self.roles[role] for role in user.roles)
        return required_of == "everybody" or (required_of == "administrators" and is_administrator)

    def begin(
        self, client: Client | None, user: User | None, scope: Scope, call: Call, now: int, given: Answer
    ) -> Session:
        seconds = LOGIN_SECONDS if client is None else client.settings.refresh_seconds
        session = Session(
            session_id=given.session_id,
            client=client,
            user=user,
            scope=scope,
            until=now + seconds * SECOND_MS,
            refreshable=user is not None and (client is None or "refresh_token" in client.settings.grants),
            pairs=[],
            proved_at=now,
        )
        pair = self.make_pair(session, scope, call, now, given)
        pair.refresh = pair.refresh if session.refreshable else None
        self.sessions.append(session)
        self.add(session, pair)
        return session

    def make_pair(self, session: Session, scope: Scope, call: Call, now: int, given: Answer) -> Pair:
        client = session.client
        seconds = LOGIN_ACCESS_SECONDS if client is None else client.settings.access_seconds
        access, refresh = self.new(given.access), self.new(given.refresh)
        return Pair(
            access, refresh, scope, min(now + seconds * SECOND_MS, session.until), now, call.user_agent
        )

    def begin_token(self, user: User, allows: Scope, seconds: int, now: int, given: Answer) -> Session:
        """Begin a personal access token: owned by its holder, valid until its end, never refreshed."""
        until = now + seconds * SECOND_MS
        text = given.access or ""
        drawn = self.new(text.removeprefix(TOKEN_PREFIX))
        is_new = text.startswith(TOKEN_PREFIX) and text.endswith(drawn) and text not in self.tokens
        shown = text if is_new else "(a token that was never given out)"
        session = Session(given.session_id, None, user, allows, until, False, [], allows=allows)
        self.sessions.append(session)
        self.add(session, Pair(shown, None, allows, until, now, None))
        return session

    def answer_of_session(self, session: Session, now: int) -> Answer:
        pair = session.pairs[-1]
        return Answer(
            AnswerKind.TOKENS,
            access=pair.access,
            refresh=pair.refresh,
            expires_in=(pair.access_until - now) // SECOND_MS,
            scope=tuple(sorted(pair.scope)),
            session_id=session.session_id if len(session.pairs) == 1 else None,
        )

    def add(self, session: Session, pair: Pair) -> None:
        session.pairs.append(pair)
        self.index(session, len(session.pairs) - 1)

    def index(self, session: Session, generation: int) -> None:
        pair = session.pairs[generation]
        if pair.access is not None:
            self.tokens[pair.access] = Held(session, generation, is_access=True)
        if pair.refresh is not None:
            self.tokens[pair.refresh] = Held(session, generation, is_access=False)

    def new(self, text: str | None) -> str:
        """Return a bearer value that was never issued before: 43 characters of base64url."""
        if text is None or len(text) != 43 or not BASE64URL.issuperset(text):
            return "(43 characters of base64url)"
        if text in self.tokens or text in self.codes:
            return "(a value that was never given out before)"
        return text

    @staticmethod
    def live(held: Held, now: int) -> bool:
        """Whether a token is valid: of the latest generation, of a live session, before its expiry."""
        session = held.session
        if session.ended or now >= session.until or held.generation != len(session.pairs) - 1:
            return False
        return not held.is_access or now < session.pairs[held.generation].access_until

    def expire(self, now: int) -> None:
        """Mark sessions at their maximum as expired; a later ending does not count for them."""
        for session in self.sessions:
            session.expired = session.expired or (now >= session.until and not session.ended)

    def end_all_of(self, user: User, but: Session | None = None) -> None:
        """End all sessions of the user, void all their codes, and forget their wrong entries."""
        user.wrong_at = []
        self.end(session for session in self.sessions if session.user is user and session is not but)
        self.void(code for code in self.codes.values() if code.user is user)
        self.void(code for code in self.text_codes.values() if code.user is user)
        self.void(ticket for ticket in self.tickets.values() if ticket.user is user)
        self.void(one for one in self.invitations if one.user is user)

    def end_all_of_client(self, client: Client) -> None:
        self.end(session for session in self.sessions if session.client is client)
        self.void(code for code in self.codes.values() if code.client is client)

    @staticmethod
    def end(sessions: Iterable[Session]) -> None:
        for session in sessions:
            session.ended = True

    @staticmethod
    def void(codes: Iterable[Code | TextCode | Ticket | Invitation]) -> None:
        for code in codes:
            code.void = True
