"""Make invitations and accept them: links by which users set a password.

The token stands behind the `#` of its link, which browsers send to no server: so it is in no log, of this
server or of a proxy, and in no Referer (docs/decisions/0081-an-invitation-is-read-behind-the-hash.md).
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Final, NamedTuple

from msgspec import Meta, structs

from ostiary_core.events import (
    AccountRequested,
    BatchRequested,
    InvitationAccepted,
    InvitationMade,
    InvitationPresented,
)
from ostiary_core.model.instant import SECOND_MS, Instant, iso_time
from ostiary_core.model.permissions import Permission, TokenPower
from ostiary_core.model.records import User
from ostiary_core.model.reply import BatchDone, BatchRefused, InvitationIssued, Reply
from ostiary_core.model.secret import Secret
from ostiary_core.texts import Language
from ostiary_net.runtime.text_messages import TextMessage
from ostiary_web.application.answer_data import AnswerData, Time
from ostiary_web.application.resources.records import combine_refusals
from ostiary_web.http.browser import own_address
from ostiary_web.http.context import RequestContext
from ostiary_web.http.zones import zone_for

PATH: Final = "/invitation"
"""Path of the page that an invitation leads to."""
LONGEST_INVITATION: Final = 128


class Invited(NamedTuple):
    """A user with a new invitation; its link is secret and shown once."""

    user: User
    link: Secret
    expires_at: Instant
    is_sent: bool
    """Whether it goes to the user's telephone, so that nobody else needs to see it."""


class NewInvitation(AnswerData):
    """A new invitation."""

    url: Annotated[str | None, Meta(description="Shown this once; null if it went to the user's telephone.")]
    expires_at: Time
    sent: bool


class NewInvitationOfUser(NewInvitation):
    """A new invitation of one of several users."""

    id: str
    username: str


def has_gateway(context: RequestContext) -> bool:
    """Whether text messages leave this machine."""
    return context.services.settings.sms_gateway_url is not None


def make_link(address: str, token: Secret) -> Secret:
    """Return the link of an invitation to the server at `address`."""
    return Secret(f"{address}{PATH}#{token.reveal()}")


async def require_inviting(context: RequestContext) -> None:
    """Refuse a caller who may not invite; raise `RequestRefused`."""
    # The trail says which permission a refusal is about.
    asked_under, context.permission = context.permission, Permission.USER_UPDATE
    power = TokenPower.CREDENTIALS
    await context.decide(
        AccountRequested(caller=context.caller, permission=Permission.USER_UPDATE, power=power)
    )
    context.permission = asked_under


async def invite(context: RequestContext, user_id: str, *, by_text_message: bool) -> Invited:
    """Invite a user, by text message if there are a number and a gateway; raise `RequestRefused`."""
    reply = await context.decide(make_invitation_event(context, user_id))
    return await hand_over(context, reply, by_text_message)


async def invite_all(
    context: RequestContext, user_ids: Sequence[str], *, by_text_message: bool
) -> list[Invited]:
    """Invite several users, or none if one is refused; raise `RequestRefused` with each refusal."""
    reply = await context.decide(
        BatchRequested(events=tuple(make_invitation_event(context, user_id) for user_id in user_ids))
    )
    if isinstance(reply, BatchRefused):
        raise combine_refusals(reply, [f"ids.{place}" for place in range(len(user_ids))])
    assert isinstance(reply, BatchDone)
    return [await hand_over(context, each, by_text_message) for each in reply.replies]


def encode_invitation(invited: Invited) -> NewInvitation:
    """Return an invitation as it is answered, with its link unless it was sent."""
    return NewInvitation(
        url=None if invited.is_sent else invited.link.reveal(),
        expires_at=iso_time(invited.expires_at),
        sent=invited.is_sent,
    )


def encode_invitations(invited: Iterable[Invited]) -> list[NewInvitationOfUser]:
    """Return the invitations of several users as they are answered."""
    return [
        NewInvitationOfUser(
            **structs.asdict(encode_invitation(each)), id=each.user.user_id, username=each.user.username
        )
        for each in invited
    ]


async def accept_invitation(context: RequestContext, token: str, new_password: str) -> None:
    """Set the password of an invited user; raise `RequestRefused`.

    The token is checked first, so that one that is not good costs no hash.
    """
    presented = Secret(token)
    await context.decide(InvitationPresented(token=presented))
    new_password_hash = await context.services.passwords.hash(new_password)
    await context.decide(InvitationAccepted(token=presented, new_password_hash=new_password_hash))


def make_invitation_event(context: RequestContext, user_id: str) -> InvitationMade:
    """Return the event that invites a user."""
    return InvitationMade(caller=context.caller, user_id=user_id, entropy=context.draw_entropy())


async def hand_over(context: RequestContext, reply: Reply, by_text_message: bool) -> Invited:
    """Send an invitation that was made, if it is to be sent and can be; return it with its link."""
    assert isinstance(reply, InvitationIssued)
    user, link = reply.user, make_link(own_address(), reply.token)
    is_sent = by_text_message and has_gateway(context) and user.phone is not None
    invited = Invited(user, link, reply.expires_at, is_sent)
    if is_sent:
        now = context.service.clock.now()
        language = context.languages.by_tag(user.locale) or context.language
        await context.send_text_message(_compose(invited, language, now))
    return invited


def _compose(invited: Invited, language: Language, now: Instant) -> TextMessage:
    """Return the message of an invitation, its time in the zone of the user."""
    user = invited.user
    zone = zone_for(None, user)
    # Rounded down: the invitation is good for longer than it says, never for less.
    until = datetime.fromtimestamp(invited.expires_at // SECOND_MS, UTC).astimezone(zone)
    text = language.text(
        "message.invitation",
        username=user.username,
        link=invited.link.reveal(),
        until=f"{until:%Y-%m-%d %H:%M}",
        zone=zone.key,
    )
    return TextMessage(phone=user.phone or "", purpose="invitation", text=text, at=now)
