"""django-oauth-toolkit on a Django project in one file.

It runs in an environment of its own (`installing.py`). Everything is at its default but what is commented.
`python django_toolkit.py` makes the tables.
"""
# Its packages are none of this project's, so mypy does not see them.
# mypy: disable-error-code="import-not-found, import-untyped"

import os

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.urls import include, path

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
        "ACCESS_TOKEN_EXPIRE_SECONDS": 86_400,
        "REFRESH_TOKEN_EXPIRE_SECONDS": 2_592_000,
    },
)
application = get_wsgi_application()
urlpatterns = [path("o/", include("oauth2_provider.urls", namespace="oauth2_provider"))]

if __name__ == "__main__":
    call_command("migrate", verbosity=0)
