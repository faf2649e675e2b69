"""Authlib's authorization server on Flask with SQLAlchemy, put together as its documentation does.

It runs in an environment of its own (`installing.py`), on the models and grants of Authlib's guide to a Flask
OAuth 2.0 server, with rotated refresh tokens, PKCE, introspection and a protected `/api/me`.
"""
# Its packages are none of this project's, so mypy does not see them.
# mypy: disable-error-code="import-not-found, import-untyped, misc, name-defined, untyped-decorator"

import json
import os
import time
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector, current_token
from authlib.integrations.sqla_oauth2 import (
    OAuth2AuthorizationCodeMixin,
    OAuth2ClientMixin,
    OAuth2TokenMixin,
    create_bearer_token_validator,
    create_query_client_func,
    create_query_token_func,
    create_save_token_func,
)
from authlib.oauth2.rfc6749 import grants
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from flask import Flask, jsonify
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import event

from docs.bench.names import CHALLENGE, REDIRECT_URI, USERS, client_id, secret_of, token
from docs.bench.peers.filling import ACCESS_SECONDS, APPLICATIONS, run_command

app = Flask(__name__)
app.config.update(
    SQLALCHEMY_DATABASE_URI=f"sqlite:///{os.environ['BENCH_STORE']}",
    OAUTH2_REFRESH_TOKEN_GENERATOR=True,
    OAUTH2_TOKEN_EXPIRES_IN={
        "authorization_code": ACCESS_SECONDS,
        "client_credentials": ACCESS_SECONDS,
        "refresh_token": ACCESS_SECONDS,
    },
)
db = SQLAlchemy(app)


class User(db.Model):
    id = db.Column(db.Integer, primary_key=True)
    username = db.Column(db.String(40), unique=True)

    def get_user_id(self) -> int:
        user_id: int = self.id
        return user_id


class Client(db.Model, OAuth2ClientMixin):
    id = db.Column(db.Integer, primary_key=True)


class Code(db.Model, OAuth2AuthorizationCodeMixin):
    id = db.Column(db.Integer, primary_key=True)
    user_id = db.Column(db.Integer, db.ForeignKey("user.id", ondelete="CASCADE"))


class Token(db.Model, OAuth2TokenMixin):
    id = db.Column(db.Integer, primary_key=True)
    user_id = db.Column(db.Integer, db.ForeignKey("user.id", ondelete="CASCADE"))
    user = db.relationship("User")


query_token = create_query_token_func(db.session, Token)


class CodeGrant(grants.AuthorizationCodeGrant):
    def query_authorization_code(self, code: str, client: Any) -> Any:
        item = Code.query.filter_by(code=code, client_id=client.client_id).first()
        return item if item and not item.is_expired() else None

    def delete_authorization_code(self, authorization_code: Any) -> None:
        db.session.delete(authorization_code)
        db.session.commit()

    def authenticate_user(self, authorization_code: Any) -> Any:
        return db.session.get(User, authorization_code.user_id)


class RefreshGrant(grants.RefreshTokenGrant):
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> Any:
        item = Token.query.filter_by(refresh_token=refresh_token).first()
        return item if item and not item.is_revoked() else None

    def authenticate_user(self, refresh_token: Any) -> Any:
        return db.session.get(User, refresh_token.user_id)

    def revoke_old_credential(self, refresh_token: Any) -> None:
        refresh_token.access_token_revoked_at = refresh_token.refresh_token_revoked_at = int(time.time())
        db.session.add(refresh_token)
        db.session.commit()


class Introspection(IntrospectionEndpoint):
    def query_token(self, token_string: str, token_type_hint: str | None) -> Any:
        return query_token(token_string, token_type_hint)

    def check_permission(self, token: Any, client: Any, request: Any) -> bool:
        return bool(token.client_id == client.client_id)

    def introspect_token(self, token: Any) -> dict[str, Any]:
        return {
            "active": True,
            "client_id": token.client_id,
            "token_type": token.token_type,
            "username": token.user.username if token.user else None,
            "scope": token.get_scope(),
            "iat": token.issued_at,
            "exp": token.issued_at + token.expires_in,
        }


server = AuthorizationServer(
    app,
    query_client=create_query_client_func(db.session, Client),
    save_token=create_save_token_func(db.session, Token),
)
server.register_grant(CodeGrant, [CodeChallenge(required=True)])
server.register_grant(RefreshGrant)
server.register_grant(grants.ClientCredentialsGrant)
server.register_endpoint(Introspection)
require_oauth = ResourceProtector()
require_oauth.register_token_validator(create_bearer_token_validator(db.session, Token)())


@app.post("/oauth/token")
def issue_token() -> Any:
    return server.create_token_response()


@app.post("/oauth/introspect")
def introspect_token() -> Any:
    return server.create_endpoint_response("introspection")


@app.get("/api/me")
@require_oauth("user.read")
def api_me() -> Any:
    user = current_token.user
    return jsonify(sub=str(user.id), username=user.username)


with app.app_context():

    @event.listens_for(db.engine, "connect")
    def durable(connection: Any, _: Any) -> None:
        """Every change is on disk before it is answered, and readers do not wait for it."""
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")

    db.create_all()


def insert(model: Any, rows: list[dict[str, Any]]) -> None:
    with db.engine.begin() as connection:
        connection.execute(model.__table__.insert(), rows)


def add_clients_and_users() -> None:
    metadata = {
        "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
        "redirect_uris": [REDIRECT_URI],
        "response_types": ["code"],
        "scope": "user.read",
        "token_endpoint_auth_method": "client_secret_basic",
    }
    clients = (
        {"client_id": name, "client_secret": secret_of(name), "client_metadata": json.dumps(metadata)}
        for name in APPLICATIONS
    )
    insert(Client, list(clients))
    insert(User, [{"id": 1 + number, "username": f"user{number}"} for number in range(USERS)])


def owned(number: int) -> dict[str, Any]:
    return {"user_id": 1 + number % USERS, "client_id": client_id(number), "scope": "user.read"}


def add_sessions(numbers: range) -> None:
    sessions = (
        {
            **owned(number),
            "token_type": "Bearer",
            "access_token": token("access", number),
            "refresh_token": token("refresh", number),
            "expires_in": ACCESS_SECONDS,
        }
        for number in numbers
    )
    insert(Token, list(sessions))


def add_codes(numbers: range) -> None:
    codes = (
        {
            **owned(number),
            "code": token("code", number),
            "redirect_uri": REDIRECT_URI,
            "response_type": "code",
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
        }
        for number in numbers
    )
    insert(Code, list(codes))


if __name__ == "__main__":
    with app.app_context():
        run_command(add_clients_and_users, add_sessions, add_codes)
