"""The pages. They work without JavaScript, ask no other host, and follow the same events as the interface."""

from quart import Blueprint

from ostiary_web.pages.account import account_pages
from ostiary_web.pages.administration.audit import audit_pages
from ostiary_web.pages.administration.clients import client_pages
from ostiary_web.pages.administration.online import online_pages
from ostiary_web.pages.administration.overview import overview_pages
from ostiary_web.pages.administration.roles import role_pages
from ostiary_web.pages.administration.users import user_pages
from ostiary_web.pages.applications import application_pages
from ostiary_web.pages.consent import consent
from ostiary_web.pages.home import home, languages
from ostiary_web.pages.invitation import invitation_pages
from ostiary_web.pages.recovery import recovery_pages
from ostiary_web.pages.second_factor import second_factor_pages
from ostiary_web.pages.sign_in import sign_in_pages
from ostiary_web.pages.static_files import static_files
from ostiary_web.pages.telephone import telephone_pages
from ostiary_web.pages.tokens import token_pages

__all__ = ["PAGES"]

PAGES: tuple[Blueprint, ...] = (
    home,
    languages,
    static_files,
    sign_in_pages,
    recovery_pages,
    invitation_pages,
    consent,
    account_pages,
    telephone_pages,
    second_factor_pages,
    application_pages,
    token_pages,
    overview_pages,
    client_pages,
    user_pages,
    role_pages,
    online_pages,
    audit_pages,
)
"""Every blueprint of pages."""
