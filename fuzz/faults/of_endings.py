"""Mistakes in what ends a session, who may call, and what the machinery around the rules keeps."""

from typing import Final
from unittest.mock import patch

from fuzz.faults.planting import Fault, instead, mistakes_in
from ostiary_core.model.records import RefreshToken

_EPOCH_IS_THE_USERS: Final = "born.epochs.user != user.epoch"
_DONE: Final = ("return Decision(Done(), changes, (fact,))", "return Decision(Done())")

FAULTS: Final = (
    *mistakes_in(
        "ostiary_core.oauth.inherited_endings.inherited_ending",
        ("user-epoch-ignored", "endings of a user end nothing", _EPOCH_IS_THE_USERS, "False"),
        (
            *("client-epoch-ignored", "endings of a client end nothing"),
            *("born.epochs.client != client.epoch", "False"),
        ),
        (
            *("consent-epoch-ignored", "a withdrawn consent ends nothing"),
            *("born.epochs.consent !=", "False and born.epochs.consent !="),
        ),
        (
            *("codes-outlive-users-ending", "endings of a user spare codes"),
            *(_EPOCH_IS_THE_USERS, f"isinstance(born, Session) and {_EPOCH_IS_THE_USERS}"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.inherited_endings.with_next_epoch",
        (
            *("user-endings-forgotten", "what ends a user's sessions does not"),
            *("record.epoch + 1", "record.epoch + isinstance(record, Client)"),
        ),
        (
            *("client-endings-forgotten", "disabling or deleting a client ends nothing"),
            *("record.epoch + 1", "record.epoch + isinstance(record, User)"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.consent.withdraw_from",
        (
            *("withdrawn-twice", "what was withdrawn is withdrawn again"),
            *("consent is None or consent.withdrawn_at is not None", "consent is None"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.consent._record_entry",
        (
            *("let-in-for-good", "what nobody was asked about cannot be withdrawn"),
            *("if consent is not None and consent.withdrawn_at is None:", "if True:"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.clients.client._close",
        (
            *("old-secret-survives-disabling", "a client that is enabled again has its old secret back"),
            *("old_secret_digest=None,", "", "old_secret_until=None,", ""),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.user_administration.enable",
        (
            *("enabled-user-revives", "enabling a user revives sessions"),
            *("revise(user,", "revise(user, epoch=user.epoch - 1,"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.clients.client.enable",
        (
            *("enabled-client-revives", "enabling a client revives sessions"),
            *("revise(client,", "revise(client, epoch=client.epoch - 1,"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.clients.client_secret._with_secret",
        (
            *("secret-reset-ends", "a secret reset ends sessions"),
            *("updated_at=now,", "updated_at=now, epoch=client.epoch + 1,"),
        ),
        (
            *("second-reset-ends-secret", "a reset sent twice ends the secret that is in use"),
            *("if _is_waiting_for_first_use(client, now):", "if False:"),
        ),
        (
            *("old-secret-too-long", "an old secret works a minute too long"),
            *("later(now, overlap_seconds)", "later(now, overlap_seconds + 60)"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.client_authentication.authenticate_client",
        (
            *("disabled-client-authenticates", "a disabled client authenticates"),
            *("client if client.enabled else", "client or"),
        ),
        (
            *("deleted-client-authenticates", "a deleted client authenticates"),
            *("client.deleted_at is not None", "False", "client if client.enabled else", "client or"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.client_authentication._is_one_of",
        ("secret-unchecked", "any client secret will do", "return bool(", "return True or bool("),
    ),
    *mistakes_in(
        "ostiary_core.oauth.callers.find_holder",
        (
            *("third-party-signed-in", "a third party's token opens the backend"),
            "session.kind not in kinds or",
            "(session.kind is SessionKind.PERSONAL_TOKEN and len(kinds) == 1) or",
        ),
        (
            *("token-signed-in", "a personal access token is taken for a login, and makes another"),
            *("session.kind not in kinds", "session.kind not in (*kinds, SessionKind.PERSONAL_TOKEN)"),
        ),
        (
            *("token-outlives-its-end", "a personal access token works after its end"),
            *("if state_of(", "if session.kind is SessionKind.LOGIN and state_of("),
            *("or snapshot.now >= session.access_expires_at", ""),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.callers.permissions_held",
        (
            *("token-keeps-permissions", "a token has a permission that its holder lost"),
            "tuple(permission for permission in held if permission in who.session.scopes)",
            "who.session.scopes",
        ),
        (
            *("token-widens", "a token may do all that its holder may"),
            *("if who.is_by_token:", "if False:"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.oauth.callers.has_more_permissions",
        (
            *("token-reaches-its-holder", "a token sets the password of its holder"),
            *("if isinstance(who, Person) and who.is_by_token and", "if False and"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.own_account.sign_in",
        ("disabled-user-signs-in", "a disabled user signs in", "or not user.enabled", ""),
    ),
    *mistakes_in(
        "ostiary_core.users.own_account.refuse_wrong_password",
        (
            *("wrong-passwords-forgiven", "wrong current passwords end nothing"),
            *("len(counted) + 1 < policy.wrong_passwords_until_ending", "True"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.telephone.change_phone",
        (
            *("phone-without-password", "a new telephone number takes any password"),
            *("if wrong is not None:", "if False:"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.telephone.request_text_code",
        (
            *("text-codes-unbounded", "an account asks for text messages without end"),
            *("if wait_seconds:", "if False:"),
        ),
    ),
    *mistakes_in(
        "ostiary_core.users.own_account.sign_out",
        ("sign-out-ends-nothing", "signing out ends nothing", *_DONE),
    ),
    *mistakes_in(
        "ostiary_core.users.user_administration.force_out_session",
        ("forced-out-lives", "a forced-out session goes on", *_DONE),
    ),
    *mistakes_in(
        "ostiary_core.storage.store.MemoryStore.write",
        ("deletes-lost", "the store forgets what was deleted", "del self._tables[key.table][key.id]", "pass"),
        (
            *("revocations-lost", "the store loses an acknowledged revocation", "change in changes]"),
            """change in changes if not (
                isinstance(change, Update) and getattr(change.after, "ended_why", None) == "revoked_by_client"
            )]""",
        ),
    ),
    *mistakes_in(
        "ostiary_core.decide.take_turn",
        ("turns-stale", "events of a turn do not see one another", "current.apply(decision.changes)", "pass"),
    ),
    Fault(
        "references-forgotten",
        "keys do not cover what is read",
        lambda: patch.object(RefreshToken, "references", ()),
    ),
    *mistakes_in(
        "ostiary_core.model.secret.draw_id",
        (
            *("identifiers-counted", "the rules draw from somewhere else", "return "),
            "draw_id.calls = getattr(draw_id, 'calls', 0) + 1; return f'{draw_id.calls:032x}' or ",
        ),
    ),
    Fault(
        "secrets-print",
        "a bearer value shows when printed",
        instead("ostiary_core.model.secret.Secret.__repr__", '"Secret([secret])"', "self.reveal()"),
    ),
)
