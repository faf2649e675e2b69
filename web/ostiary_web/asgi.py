"""The application for any ASGI server: `hypercorn --worker-class trio ostiary_web.asgi:app`."""

from ostiary_web.app.asgi_app import asgi_app_from_environment

app = asgi_app_from_environment()
