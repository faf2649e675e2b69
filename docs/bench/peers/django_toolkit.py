"""django-oauth-toolkit on a Django project in one file.

It runs in an environment of its own (`installing.py`). Everything is at its default but what is commented.
"""
# Its packages are none of this project's, so mypy does not see them.
# mypy: disable-error-code="import-not-found, import-untyped"

import os
from datetime import timedelta
from typing import Any
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.db import transaction
from django.urls import include, path
from django.utils import timezone

from docs.bench.names import CHAINS, CHALLENGE, CLIENTS, REDIRECT_URI, USERS, secret_of, token
from docs.bench.peers.filling import ACCESS_SECONDS, APPLICATIONS, run_command

settings.configure(
    SECRET_KEY="only-measured",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "oauth2_provider",
    ],
    # What `startproject` gives, without the messages of the administration.
    MIDDLEWARE=[
        "django.middleware.security.SecurityMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.middleware.clickjacking.XFrameOptionsMiddleware",
    ],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.environ["BENCH_STORE"],
            "CONN_MAX_AGE": None,  # connections are kept
            "OPTIONS": {
                # Every change is on disk before it is answered, and readers do not wait for it.
                "init_command": "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;",
                "transaction_mode": "IMMEDIATE",
            },
        }
    },
    OAUTH2_PROVIDER={
        "SCOPES": {"user.read": "Read your profile", "openid": "Know who you are"},
        # For the user-info endpoint. Scopes without `openid` get no ID token, so nothing is signed.
        "OIDC_ENABLED": True,
        "OIDC_RSA_PRIVATE_KEY": rsa.generate_private_key(public_exponent=65537, key_size=2048)
        .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        .decode(),
        "ACCESS_TOKEN_EXPIRE_SECONDS": ACCESS_SECONDS,
        "REFRESH_TOKEN_EXPIRE_SECONDS": 2_592_000,
    },
)
application = get_wsgi_application()

# Models can be imported once Django is set up.
from django.contrib.auth.models import User  # noqa: E402
from oauth2_provider.models import AccessToken, Application, Grant, RefreshToken  # noqa: E402

urlpatterns = [path("o/", include("oauth2_provider.urls", namespace="oauth2_provider"))]


def add_clients_and_users() -> None:
    # Secrets are kept as they are, which the toolkit allows: hashed as passwords are, its default, each
    # request would cost it a quarter of a second.
    call_command("migrate", verbosity=0)
    grants = CLIENTS * ["authorization-code"] + CLIENTS * ["client-credentials"]
    Application.objects.bulk_create(
        Application(
            id=number,
            client_id=name,
            client_secret=secret_of(name),
            hash_client_secret=False,
            client_type="confidential",
            authorization_grant_type=grant_type,
            redirect_uris=REDIRECT_URI,
            name=name,
        )
        for number, (name, grant_type) in enumerate(zip(APPLICATIONS, grants, strict=True), start=1)
    )
    User.objects.bulk_create(User(id=1 + number, username=f"user{number}") for number in range(USERS))


def owned(number: int) -> dict[str, Any]:
    return {"application_id": 1 + number % CLIENTS, "user_id": 1 + number % USERS}


def add_sessions(numbers: range) -> None:
    expires = timezone.now() + timedelta(seconds=ACCESS_SECONDS)
    with transaction.atomic():
        AccessToken.objects.bulk_create(
            AccessToken(
                id=1 + number,
                token=token("access", number),
                expires=expires,
                # The user-info endpoint asks for openid; a chain without it is not given ID tokens.
                scope="user.read" if number < CHAINS else "openid user.read",
                **owned(number),
            )
            for number in numbers
        )
        RefreshToken.objects.bulk_create(
            RefreshToken(
                token=token("refresh", number),
                access_token_id=1 + number,
                token_family=UUID(int=number),
                **owned(number),
            )
            for number in numbers
        )


def add_codes(numbers: range) -> None:
    expires = timezone.now() + timedelta(seconds=300)
    Grant.objects.bulk_create(
        Grant(
            code=token("code", number),
            expires=expires,
            redirect_uri=REDIRECT_URI,
            scope="user.read",
            code_challenge=CHALLENGE,
            code_challenge_method="S256",
            **owned(number),
        )
        for number in numbers
    )


if __name__ == "__main__":
    run_command(add_clients_and_users, add_sessions, add_codes)
