"""The core's texts in English."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ostiary_core.texts.language import Language, PluralCategory


def _plural_category(count: int) -> PluralCategory:
    return "one" if count == 1 else "other"


_TEXTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        # --- why a request was refused: the message of the envelope
        "refusal.request_malformed": "The request is malformed.",
        "refusal.body_too_large": "The body is too large.",
        "refusal.content_coding_unsupported": "The body must be sent without Content-Encoding.",
        "refusal.arrival_unknown": "Something went wrong on the server.",
        "refusal.not_signed_in": "You are not signed in, or the token is not valid.",
        "refusal.password_must_change": "You must change your password first.",
        "refusal.second_factor_required": "You must set up a second factor first.",
        "refusal.permission_missing": "You do not have permission to do this.",
        "refusal.token_permission_missing": "This access token does not have the permission to do this.",
        "refusal.proof_required": "Confirm who you are first: you signed in some time ago.",
        "refusal.token_power_missing": (
            "This token may not do this: it was not chosen by name when the token was made."
        ),
        "refusal.represents_no_user": "The token represents no user.",
        "refusal.user_read_missing": "The token lacks the scope user.read.",
        "refusal.query_undecodable": "The query cannot be decoded as UTF-8, or has more than 100 fields.",
        "refusal.parameter_repeated": "A parameter was sent more than once.",
        "refusal.parameters_malformed": "A parameter is missing or malformed.",
        "refusal.client_not_authorizable": (
            "client_id is not a client that can sign users in: it is unknown, disabled, built in, or not "
            "authorized to use the grant authorization_code."
        ),
        "refusal.redirect_uri_not_registered": (
            "redirect_uri is not exactly one of the client's registered redirect URIs; case, a trailing "
            "slash and extra query parameters all count."
        ),
        "refusal.response_type_unsupported": "response_type must be code.",
        "refusal.scope_not_allowed": "scope is empty, or names a scope that the client may not request.",
        "refusal.sign_ins_too_frequent": "Too many failed sign-ins. Try again later.",
        "refusal.sign_in_wrong": "The user name or password is wrong.",
        "refusal.sign_in_expired": "This sign-in took too long, or was finished already. Sign in again.",
        "refusal.sign_in_code_wrong": "The code is wrong, or was used already.",
        "refusal.second_factor_wrong": "The code is wrong, or was used already.",
        "refusal.second_factor_exists": "A second factor is set up already. Remove it first.",
        "refusal.second_factor_key_different": "Something went wrong on the server.",
        "refusal.text_recovery_off": (
            "Passwords cannot be reset by text message here. Ask an administrator."
        ),
        "refusal.credential_moved_on": "The password was changed at the same moment. Try again.",
        "refusal.current_password_wrong": "The current password is wrong.",
        "refusal.text_code_wrong": "The code is wrong or has expired.",
        "refusal.invitation_wrong": (
            "This invitation was used already, has expired, or was replaced by a newer one."
            " Ask an administrator for another one."
        ),
        "refusal.text_codes_too_frequent": (
            "This account has asked for too many codes within a day. Try again later."
        ),
        "refusal.fields_invalid": "Some fields are not valid.",
        "refusal.not_found": "Not found.",
        "refusal.already_taken": "That is already taken.",
        "refusal.still_referenced": "The record is still referenced.",
        "refusal.changed_meanwhile": "Another user has changed this in the meantime.",
        "refusal.built_in_protected": "A built-in client is protected.",
        "refusal.role_protected": "The built-in role cannot be changed.",
        "refusal.last_administrator": "The last enabled super administrator must stay.",
        "refusal.too_many_tokens": "You have as many access tokens as an account can have. End one first.",
        "refusal.own_account_alone": "This is your own account. Change this under My account.",
        "refusal.administrator_exists": "A super administrator already exists.",
        "refusal.revoked_by_client": "The client revoked the session.",
        "refusal.code_replayed": "The authorization code was used twice.",
        "refusal.signed_out": "The user signed out.",
        "refusal.signed_out_elsewhere": "The user signed out everywhere else.",
        "refusal.personal_token_ended": "The user ended the access token.",
        "refusal.session_forced_out": "An administrator ended the session.",
        "refusal.consent_withdrawn": "The consent was withdrawn.",
        "refusal.password_changed": "The user changed the password.",
        "refusal.phone_changed": "The user changed the telephone number.",
        "refusal.password_reset_by_administrator": "An administrator reset the password.",
        "refusal.invitation_accepted": "The password was set by an invitation.",
        "refusal.password_reset_by_text_message": "The password was reset by text message.",
        "refusal.second_factor_set_up": "The user set up a second factor.",
        "refusal.second_factor_removed": "The user removed the second factor.",
        "refusal.second_factor_reset_by_administrator": "An administrator reset the second factor.",
        "refusal.current_password_wrong_repeatedly": (
            "The current password was entered wrongly too often; you have been signed out."
        ),
        "refusal.user_disabled": "The user was disabled.",
        "refusal.user_deleted": "The user was deleted.",
        "refusal.user_forced_out": "An administrator signed the user out.",
        "refusal.client_forced_out": "An administrator ended all sessions of the client.",
        "refusal.everybody_forced_out": "An administrator ended all sessions.",
        "refusal.route_unknown": "There is nothing at this address.",
        "refusal.method_not_allowed": "This method is not allowed here.",
        "refusal.body_not_json": "The body is not a valid JSON object.",
        "refusal.media_type_unsupported": "The body must be application/json.",
        "refusal.not_multipart": "The body must be multipart/form-data with its fields and a file.",
        "refusal.origin_unproven": "The request does not prove that it comes from this site's own pages.",
        "refusal.address_too_long": "The address of the request is too long.",
        "refusal.too_many_requests": "Too many requests. Try again in a moment.",
        "refusal.submitted_twice": "The same request was just made.",
        "refusal.internal_error": "Something went wrong on the server.",
        "refusal.not_ready": "The server is temporarily unavailable.",
        "refusal.passwords_busy": "Too many sign-ins at the moment. Try again in a few seconds.",
        # --- what is wrong with a field; the reader knows the field from its path
        "field.required": "is required",
        "field.unknown": "is not a field of this record",
        "field.immutable": "cannot be changed here",
        "field.string": "must be a string of visible characters",
        "field.strings": "must be an array of strings",
        "field.integer": "must be a whole number",
        "field.boolean": "must be true or false",
        "field.too-long": "is too long",
        "field.duplicate": "names the same value twice",
        "field.reserved": "is reserved by this interface",
        "field.client-id": (
            "must be 1 to 64 letters, digits, dots, hyphens or underscores, and begin with a letter or digit"
        ),
        "field.redirect-uri": (
            "must begin with https:// (or be http://localhost or http://127.0.0.1), be at most 2000 ASCII "
            "characters (a host of other letters as xn--…) with a host that can be looked up and a port from "
            "1 to 65535 if any, and hold no #, *, backslash, white space, user name or password, and no "
            "code, state, error, error_description, error_uri or iss in its query, as the answer adds its own"
        ),
        "field.redirect-uri-needed": "needs at least one redirect URI for the grant authorization_code",
        "field.grant-type": "must be authorization_code, refresh_token or client_credentials",
        "field.scope": "is not a scope of this server; the only one is user.read",
        "field.auto-approve-scope": "must be one of the client's scopes",
        "field.access-lifetime": "must be 300 to 86400 seconds",
        "field.refresh-lifetime": "must be 3600 to 2592000 seconds",
        "field.overlap": "must be 0, or 60 to 2592000 seconds",
        "field.username": (
            "must be 1 to 64 characters without white space, invisible characters, quotes, slashes, colons "
            "or angle brackets"
        ),
        "field.phone": "must be 5 to 20 digits, with or without a leading plus",
        "field.password": "must be 8 to 256 characters",
        "field.password-unchanged": "must differ from the current password",
        "field.password-hash": (
            "must be a complete hash of argon2id, bcrypt, scrypt ($scrypt$ln=…), Django's pbkdf2_sha256, "
            "passlib's $pbkdf2-sha256$… or $pbkdf2-sha512$…, or Werkzeug's pbkdf2:… or scrypt:…"
        ),
        "field.password-hash-cost": (
            "takes more than 128 MiB or two seconds to verify, or has a bcrypt cost below 4"
        ),
        "field.password-twice": "cannot be given together with a password",
        "field.locale": "must be {choices}",
        "field.timezone": "must be the name of a time zone",
        "field.role-code": (
            "must be 1 to 64 lower-case letters, digits, dots, hyphens or underscores, a letter first"
        ),
        "field.permission": "is not a permission of this server",
        "field.date": "must be a day, as 2027-06-30",
        "field.token-lifetime": "must be from 1 to 365 days",
        "field.text-code-purpose": "must be change-phone or reset-password",
        "field.picture": "must be a PNG, JPEG or WebP picture of at most 4096 by 4096 pixels",
        "field.picture-too-large": "must have at most 2 MiB: make the picture smaller first",
        "field.role": "is not a role, or is named twice",
        "field.parameter": "is not a parameter of this request",
        "field.code-challenge": "must be the 43 base64url characters of a SHA-256 digest",
        "field.code-challenge-method": "must be S256",
        "field.page": "must be a whole number from 1 to 999999999",
        "field.page-size": "must be a whole number from 1 to 200",
        "field.sort": "must name sortable fields, each once, as createdAt,-name",
        "field.time": "must be a time in ISO 8601, as 2026-01-31T08:00:00Z",
        "field.time-order": "must not be later than the end of the range",
        "field.choice": "is not an allowed value",
        "field.import-mode": "must be insert or upsert",
        "field.invite-later": (
            "cannot be true for so many passwords, whose import goes on after its request; invite the users "
            "in cannotSignIn when it is done"
        ),
        "field.sheet": (
            "must be a readable .xlsx file whose first sheet begins with a row of headings, "
            'or a .csv file, saved as "CSV UTF-8"'
        ),
        "field.csv": (
            "is not CSV that can be read: check its quotation marks, "
            'and save it as "CSV UTF-8" or as a sheet (.xlsx)'
        ),
        "field.sheet-empty": "holds no rows below the headings",
        "field.sheet-too-large": "holds too much; at most 2000 rows are imported at a time",
        "field.sheet-not-kept": "was kept for an hour only: choose it again",
        "field.column": 'has the unknown heading "{found}"',
        "field.column-twice": 'has the heading "{found}", as another column has',
        "field.headings": "may have these headings: {choices}",
        "field.cell-error": "holds the spreadsheet error {choices}: correct the cell, or empty it",
        "field.cell-formula": (
            "holds a formula without its result: open the file in a spreadsheet program and save it, or "
            "replace formulas with values"
        ),
        "field.cell-number": (
            "holds a number of more than 15 digits, and spreadsheets keep only 15: format the column as text "
            "and type it again"
        ),
        "field.cell-format": (
            "holds a number or a date that is displayed differently: format the column as text and type it "
            "again"
        ),
        "field.cell-without-heading": "has a value, but its column has no heading",
        "list.or": " or ",
        # --- what a scope lets a client do
        "scope.user.read": "Read your basic profile: user name, display name, picture and language",
    }
)

ENGLISH: Final = Language(tag="en-US", name="English", plural_category=_plural_category, texts=_TEXTS)
