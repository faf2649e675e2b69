"""Creates the first super administrator of a store, with the built-in role and clients."""

from ostiary_core.clients.client import built_in_client
from ostiary_core.events import FirstAdministratorCreated
from ostiary_core.loading.keys import BUILT_IN_CLIENTS
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Change, Decision, Insert, Update, refused
from ostiary_core.model.fact import FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.identifiers import is_username, names_of, username_key
from ostiary_core.model.instant import Instant
from ostiary_core.model.permissions import ALL_PERMISSIONS, SUPER_ADMINISTRATOR
from ostiary_core.model.records import Role, User, revised
from ostiary_core.model.reply import Refused, UserKnown
from ostiary_core.model.secret import draw_id
from ostiary_core.model.why import Why
from ostiary_core.users.own_account import own_change


def create_first_administrator(
    event: FirstAdministratorCreated, snapshot: Snapshot, now: Instant
) -> Decision:
    """Create the built-in role and clients where missing, and a super administrator if there is none."""
    role = snapshot.role(SUPER_ADMINISTRATOR)
    if role is not None and role.enabled_holders > 0:
        return refused(Why.ADMINISTRATOR_EXISTS)
    if not is_username(event.username):
        return Decision(Refused(Why.FIELDS_INVALID, (FieldFault("username", FieldRule.USERNAME),)))
    if snapshot.identifier(username_key(event.username)) is not None:
        return refused(Why.ALREADY_TAKEN)
    user = User(
        user_id=draw_id(event.entropy, "user"),
        username=event.username,
        name=event.username,
        password_hash=event.password_hash,
        must_change_password=event.must_change_password,
        role_ids=(SUPER_ADMINISTRATOR,),
        created_at=now,
        updated_at=now,
    )
    held: Change = (
        Insert(
            Role(
                role_id=SUPER_ADMINISTRATOR,
                name="Super administrator",
                permissions=ALL_PERMISSIONS,
                built_in=True,
                holders=1,
                enabled_holders=1,
            )
        )
        if role is None
        else Update(role, revised(role, holders=role.holders + 1, enabled_holders=role.enabled_holders + 1))
    )
    clients = tuple(
        Insert(built_in_client(client_id, now))
        for client_id in BUILT_IN_CLIENTS
        if snapshot.client(client_id) is None
    )
    return Decision(
        UserKnown(user),
        (Insert(user), *(Insert(name) for name in names_of(user)), held, *clients),
        (own_change(FactKind.USER_REGISTERED, None, user),),
    )
