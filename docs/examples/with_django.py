"""The token service in a Django project, with Django's ORM as the store (`django_store.py`).

    .venv/bin/python docs/examples/with_django.py NEW-FILE.sqlite3

In a project of your own, the settings are the project's and the models are in an app of it.
"""

import sys
from typing import Any
from wsgiref.simple_server import make_server

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.urls import re_path
from first_records import make_first_records, now
from token_service import TokenService

from ostiary_core.http import LONGEST_FORM, Request


def configure(file: str) -> None:
    """What a project's settings module says, as far as this example needs it."""
    sqlite = {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": file,
        # A turn reads and then writes: begun as a reader it could not go on once another wrote.
        "OPTIONS": {"transaction_mode": "IMMEDIATE"},
    }
    settings.configure(DATABASES={"default": sqlite}, ALLOWED_HOSTS=["*"], USE_TZ=True)
    django.setup()


def make_application(service: TokenService) -> Any:
    """The four operations, as the WSGI application of the configured project."""

    def token_service(request: HttpRequest) -> HttpResponse:
        body = request.read(LONGEST_FORM + 1)
        length = request.META.get("CONTENT_LENGTH", "")
        if len(body) < min(int(length) if length.isdecimal() else 0, LONGEST_FORM + 1):
            return HttpResponse(status=400)  # torn off: half a request is not to be decided
        asked = Request.of(
            request.method,
            request.path,
            request.headers.items(),
            body,
            source=request.META.get("REMOTE_ADDR", ""),
        )
        answer = service.answer(asked)
        # An answer to HEAD has no body, and not every server of WSGI drops it.
        response = HttpResponse(b"" if request.method == "HEAD" else answer.body, status=answer.status)
        for name, value in answer.headers:
            response[name.decode("latin-1")] = value.decode("latin-1")
        return response

    settings.ROOT_URLCONF = (re_path("^api/oauth2/", token_service),)
    return get_wsgi_application()


def make_tables() -> None:
    """What a migration does in a project."""
    from django_store import StoredEntry, StoredRecord

    with connection.schema_editor() as editor:
        editor.create_model(StoredRecord)
        editor.create_model(StoredEntry)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: with_django.py NEW-FILE.sqlite3")
    configure(sys.argv[1])
    make_tables()
    from django_store import DjangoStore

    kept = DjangoStore()
    print(make_first_records(kept, now()).secrets)
    make_server("127.0.0.1", 8004, make_application(TokenService(kept))).serve_forever()
