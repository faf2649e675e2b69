"""Creates the first super administrator of a store, with the built-in role and clients."""

from ostiary_core.clients.client import make_built_in_client
from ostiary_core.events import FirstAdministratorCreated
from ostiary_core.loading.snapshot import Snapshot
from ostiary_core.model.decision import Decision, Insert, refuse, refuse_fields
from ostiary_core.model.fact import FactKind
from ostiary_core.model.fields import FieldFault, FieldRule
from ostiary_core.model.identifiers import BUILT_IN_CLIENTS, names_of, username_key
from ostiary_core.model.permissions import ALL_PERMISSIONS, SUPER_ADMINISTRATOR
from ostiary_core.model.records import Role, User
from ostiary_core.model.reply import UserKnown
from ostiary_core.model.secret import draw_id
from ostiary_core.model.user import is_username
from ostiary_core.model.why import Why
from ostiary_core.users.own_account import own_change


def create_first_administrator(event: FirstAdministratorCreated, snapshot: Snapshot) -> Decision:
    """Create a super administrator with the built-in role and clients, if there is none.

    The role comes with its first holder, and its last enabled one stays: so it says whether there is one.
    """
    if snapshot.role(SUPER_ADMINISTRATOR) is not None:
        return refuse(Why.ADMINISTRATOR_EXISTS)
    if not is_username(event.username):
        return refuse_fields((FieldFault("username", FieldRule.USERNAME),))
    if snapshot.identifier(username_key(event.username)) is not None:
        return refuse(Why.ALREADY_TAKEN)
    user = User(
        user_id=draw_id(event.entropy, "user"),
        username=event.username,
        name=event.username,
        password_hash=event.password_hash,
        must_change_password=event.must_change_password,
        role_ids=(SUPER_ADMINISTRATOR,),
        created_at=snapshot.now,
        updated_at=snapshot.now,
    )
    role = Role(
        role_id=SUPER_ADMINISTRATOR,
        name="Super administrator",
        permissions=ALL_PERMISSIONS,
        built_in=True,
        holders=1,
        enabled_holders=1,
    )
    return Decision(
        UserKnown(user),
        (
            Insert(user),
            *(Insert(name) for name in names_of(user)),
            Insert(role),
            *(Insert(make_built_in_client(client_id, snapshot.now)) for client_id in BUILT_IN_CLIENTS),
        ),
        (own_change(FactKind.USER_REGISTERED, None, user),),
    )
