"""History of calls and answers, as the callers know it.

It reads calls and answers only, no stored record and no rule. Steps find in it the tokens they refer to, the
generator finds sessions to act on, and the invariants use it as evidence.
"""

import hashlib
from dataclasses import replace

from fuzz.shared.calls import WITH_A_CODE, WITH_A_TICKET, Answer, AnswerKind, Call, Verb, split_batch
from fuzz.shared.initial_states import ClientSettings, InitialState
from fuzz.shared.knowledge import (
    KnownClient,
    KnownCode,
    KnownFactor,
    KnownPair,
    KnownSession,
    KnownTicket,
    KnownUser,
    Place,
)
from fuzz.shared.seeds import nonsense

LOGIN_SECONDS = 604_800
BEGINS_AN_ACCOUNT = (Verb.REGISTER_USER, Verb.IMPORT_USER, Verb.CREATE_ADMINISTRATOR)
BEGINS_A_CLIENT = (Verb.REGISTER_CLIENT, Verb.IMPORT_CLIENT)


def verifier_of(number: int) -> str:
    """Return the code verifier of the authorization request in step `number`."""
    return hashlib.sha256(b"verifier %d" % number).hexdigest()


class History:
    """All answers of one world."""

    def __init__(self, initial_state: InitialState) -> None:
        self.initial_state = initial_state
        self.clients: dict[str, KnownClient] = {}
        self.users: dict[str, KnownUser] = {}
        self.names: dict[str, KnownUser] = {}
        """Latest account with each name."""
        self.roles: set[str] = set()
        self.sessions: dict[int, KnownSession] = {}
        self.codes: dict[int, KnownCode] = {}
        self.grants: list[KnownSession] = []
        """Sessions of clients, and logins, in the order in which they began."""
        self.logins: list[KnownSession] = []
        self.programs: list[KnownSession] = []
        """Personal access tokens."""
        self.by_session_id: dict[str, KnownSession] = {}
        self.issued: list[KnownCode] = []
        self.tokens: dict[str, Place] = {}
        self.code_texts: dict[str, KnownCode] = {}
        self.tickets: dict[int, KnownTicket] = {}
        """Tickets by the number of the sign-in's step."""
        self.invitations: dict[str, list[str]] = {}
        """Invitations by user, the newest last."""
        self.text_codes: dict[tuple[bool, str], str] = {}
        """Latest code sent to each number, for a new number or for a new password."""

    # --- learning from answers

    def note(self, number: int, call: Call, now: int, answer: Answer) -> None:
        """Record the answer to `call`; of a batch, the answer to each part."""
        for part, own in split_batch(call, answer):
            self._note(number, part, now, own)

    def _note(self, number: int, call: Call, now: int, answer: Answer) -> None:
        place = self.tokens.get(call.token or "")
        self._note_standing(call, answer, place)
        if call.verb is Verb.REDEEM and (code := self.code_texts.get(call.token or "")) is not None:
            code.tried = True
        is_refresh = call.verb in (Verb.REFRESH, Verb.REFRESH_LOGIN)
        is_spent = answer.kind in (AnswerKind.TOKENS, AnswerKind.LOGIN) or answer.error == "invalid_scope"
        if place is not None and is_refresh and is_spent:
            place.session.spent_at.setdefault(place.generation, (now, call.user_agent))
        if call.verb in WITH_A_CODE:
            self._note_code_entered(call, now, answer)
        match answer.kind:
            case AnswerKind.ASKED if (named := self.names.get(call.username or "")) is not None:
                self.tickets[number] = KnownTicket(answer.secret or "", named, named.username, answer.sets_up)
            case AnswerKind.FACTOR:
                self._note_factor(call, answer)
            case AnswerKind.TOKENS | AnswerKind.LOGIN:
                self._note_tokens(number, call, now, answer, place)
            case AnswerKind.CODE:
                self._note_code(number, call, now, answer)
            case AnswerKind.SECRET:
                self._note_secret(call, now, answer)
            case AnswerKind.USER if call.verb in BEGINS_AN_ACCOUNT and answer.sub not in self.users:
                user = KnownUser(answer.sub or "", call.username or "", call.password or "")
                user.roles = call.roles or ()
                self.users[user.user_id] = self.names[user.username] = user
            case AnswerKind.USER if call.verb is Verb.CHANGE_USER:
                self._note_change(call, answer)
            case AnswerKind.ROLE:
                self.roles.add(call.role_id or "")
            case AnswerKind.DONE if call.moves is not None:
                self._note_moved_role(call)
            case AnswerKind.DONE:
                self._note_done(call, answer)
            case AnswerKind.USER if call.verb in (Verb.ENABLE_USER, Verb.DISABLE_USER):
                self.users[answer.sub or ""].enabled = call.verb is Verb.ENABLE_USER
            case _:
                pass

    def owner_of_factor(self, call: Call) -> KnownUser | None:
        """Return the user whose second factor a call is about."""
        if call.verb in WITH_A_TICKET:
            tickets = (ticket for ticket in self.tickets.values() if ticket.text == call.token)
            return next((ticket.user for ticket in tickets), None)
        login = self.tokens.get(call.login or "")
        return None if login is None else self.users.get(login.session.user_id or "")

    def _note_factor(self, call: Call, answer: Answer) -> None:
        user = self.owner_of_factor(call)
        if user is None:
            return
        if call.verb in (Verb.BEGIN_FACTOR, Verb.OFFER_FACTOR):
            user.offered = KnownFactor(answer.secret or "", answer.codes)
        elif user.factor is not None:
            user.factor.recovery = answer.codes

    def _note_code_entered(self, call: Call, now: int, answer: Answer) -> None:
        user = self.owner_of_factor(call)
        factor = None if user is None else user.factor or user.offered
        is_by_password = call.verb is Verb.PROVE and user is not None and user.factor is None
        if user is None or factor is None or is_by_password:
            return
        if answer.error in ("A1002", "A1007"):
            factor.wrong_at.append(now)
        elif answer.kind is not AnswerKind.REFUSED:
            factor.used.append(call.text_code or "")
            factor.wrong_at.clear()
            user.factor = None if call.verb is Verb.REMOVE_FACTOR else factor
            user.offered = None

    def _note_standing(self, call: Call, answer: Answer, place: Place | None) -> None:
        """Record whether the user or client was refused, so that the generator mostly goes on with others."""
        login = self.tokens.get(call.login or "")
        if login is not None:
            login.session.seems_over = answer.error == "A1001"
        is_latest = place is not None and place.generation == len(place.session.pairs) - 1
        if place is not None and is_latest and place.session.client_id in (None, call.client_id):
            turned_away = answer.error in ("A1001", "invalid_grant") or answer.kind is AnswerKind.INACTIVE
            is_revoked = call.verb is Verb.REVOKE and answer.kind is AnswerKind.DONE
            place.session.seems_over = turned_away or is_revoked

    def is_authentic(self, call: Call, now: int) -> bool:
        """Whether the client of `call` proved its identity, by the administrator's knowledge."""
        client = self.clients.get(call.client_id or "")
        return client is not None and client.is_proved_by(call.secret, now)

    def holder_of(self, phone: str | None) -> KnownUser | None:
        """Return the last known user with this telephone number."""
        return next((user for user in self.names.values() if phone is not None and user.phone == phone), None)

    def moves_phone(self, call: Call, answer: Answer) -> bool:
        """Whether an administrator's change gave a user another number; call it before `note`."""
        user = self.users.get(call.user_id or "")
        if call.verb is not Verb.CHANGE_USER or answer.kind is not AnswerKind.USER or user is None:
            return False
        if call.seen == "as-sent":
            return False
        return call.phone is not None and (call.phone or None) != user.phone

    def _note_tokens(self, number: int, call: Call, now: int, answer: Answer, place: Place | None) -> None:
        pair = KnownPair(answer.access or "", answer.refresh, now, call.user_agent, answer.expires_in or 0)
        if call.verb in (Verb.REFRESH, Verb.REFRESH_LOGIN):
            if place is None or pair.access in self.tokens:
                return
            session = place.session
        else:
            session = self._begun(number, call, now, answer)
            self.sessions[number] = session
            if call.verb is Verb.CREATE_TOKEN:
                self.programs.append(session)
            else:
                (self.logins if session.is_login else self.grants).append(session)
            if session.session_id is not None:
                self.by_session_id[session.session_id] = session
        session.pairs.append(pair)
        generation = len(session.pairs) - 1
        self.tokens[pair.access] = Place(session, generation, is_access=True)
        if pair.refresh is not None:
            self.tokens[pair.refresh] = Place(session, generation, is_access=False)

    def _begun(self, number: int, call: Call, now: int, answer: Answer) -> KnownSession:
        seconds, user_id = LOGIN_SECONDS, answer.sub
        if call.verb in (Verb.SIGN_IN, Verb.ENTER_FACTOR):
            client_id = None
        elif call.verb is Verb.CREATE_TOKEN:
            login = self.tokens.get(call.login or "")
            client_id, seconds = None, call.refresh_seconds or 0
            user_id = None if login is None else login.session.user_id
        else:
            client_id = call.client_id
            client = self.clients.get(call.client_id or "")
            seconds = 0 if client is None else client.settings.refresh_seconds
            code = self.code_texts.get(call.token or "")
            if call.verb is Verb.REDEEM and code is not None:
                code.redeemed += 1
                user_id = code.user_id
        user = self.users.get(user_id or "")
        return KnownSession(
            number=number,
            session_id=answer.session_id,
            client_id=client_id,
            user_id=user_id,
            username=None if user is None else user.username,
            scope=answer.scope,
            started=now,
            until=now + seconds * 1_000,
            pairs=[],
        )

    def _note_code(self, number: int, call: Call, now: int, answer: Answer) -> None:
        login = self.tokens.get(call.login or "")
        code = KnownCode(
            number=number,
            text=answer.code or "",
            client_id=call.client_id or "",
            user_id="" if login is None else login.session.user_id or "",
            redirect_uri=call.redirect_uri or "",
            verifier=verifier_of(number),
            scope=self.clients[call.client_id or ""].settings.scopes if call.scope is None else call.scope,
            at=now,
        )
        self.codes[number] = self.code_texts[code.text] = code
        self.issued.append(code)

    def _note_change(self, call: Call, answer: Answer) -> None:
        user = self.users.get(call.user_id or "")
        if user is None or call.seen == "as-sent":
            return
        if call.phone is not None:
            user.phone = call.phone or None
        user.roles = user.roles if call.roles is None else call.roles
        if self.names.get(user.username) is user:
            del self.names[user.username]
        user.username = answer.username or user.username
        self.names[user.username] = user

    def _note_moved_role(self, call: Call) -> None:
        user = self.users.get(call.user_id or "")
        if user is not None:
            kept = tuple(each for each in user.roles if each != call.role_id)
            user.roles = (*kept, call.role_id or "") if call.moves == "give" else kept

    def _note_secret(self, call: Call, now: int, answer: Answer) -> None:
        client_id, secret = call.client_id or "", answer.secret or ""
        if call.verb in BEGINS_A_CLIENT:
            settings = ClientSettings(**call.settings)
            self.clients[client_id] = KnownClient(client_id, settings, secret, nonsense(client_id))
        else:
            client = self.clients[client_id]
            if client.is_used or now >= client.old_until:
                client.old_secret, client.last_until = client.secret, client.secret_until
            client.old_until = int(min(now + (call.keep_seconds or 0) * 1_000, client.last_until))
            self._replace_secret(client, secret)

    @staticmethod
    def _replace_secret(client: KnownClient, secret: str) -> None:
        client.secret, client.is_used = secret, False
        client.settings = replace(client.settings, expires_on="")

    def _note_done(self, call: Call, answer: Answer) -> None:
        user = self.users.get(call.user_id or "")
        login = self.tokens.get(call.login or "")
        client = self.clients.get(call.client_id or "")
        match call.verb:
            case Verb.REQUEST_TEXT_CODE if answer.code is not None:
                self.text_codes[call.login is not None, call.phone or ""] = answer.code
            case Verb.INVITE_USER if answer.code is not None:
                self.invitations.setdefault(call.user_id or "", []).append(answer.code)
            case Verb.RESET_PASSWORD | Verb.RECOVER_PASSWORD | Verb.ACCEPT_INVITATION if user is not None:
                user.password = call.new_password or ""
            case Verb.UNLOCK_USER if user is not None and (
                login is None or login.session.user_id != user.user_id
            ):
                for factor in filter(None, (user.factor, user.offered)):
                    factor.wrong_at.clear()
            case Verb.RESET_FACTOR | Verb.DELETE_USER if user is not None:
                user.factor = user.offered = None
            case Verb.CHANGE_PASSWORD if login is not None:
                self.users[login.session.user_id or ""].password = call.new_password or ""
            case Verb.CHANGE_PHONE if login is not None:
                self.users[login.session.user_id or ""].phone = call.phone
            case Verb.CHANGE_CLIENT | Verb.IMPORT_CLIENT if client is not None and call.seen != "as-sent":
                client.settings = replace(client.settings, **call.settings)
            case Verb.ENABLE_CLIENT if client is not None:
                client.enabled = True
            case Verb.DISABLE_CLIENT if client is not None:
                client.old_until = 0 if client.enabled else client.old_until
                client.enabled = False
            case Verb.GIVE_SECRET if client is not None and call.secret != client.secret:
                client.old_secret, client.old_until = client.secret, 0
                self._replace_secret(client, call.secret or "")
            case Verb.NOTE_SECRET_USE if client is not None and call.secret == client.secret:
                client.is_used = True
            case Verb.END_OLD_SECRET if client is not None:
                client.old_until = 0
            case Verb.DELETE_ROLE:
                self.roles.discard(call.role_id or "")
            case Verb.DELETE_CLIENT if client is not None:
                client.deleted = True
            case _:
                pass
