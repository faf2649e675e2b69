"""Makes of another server's export what Ostiary takes over: clients, people, and how their identifiers were.

    python manage.py dumpdata auth.user oauth2_provider.application -o old.json
    python moving_in.py django old.json --to moved

    kc.sh export --dir export --realm shop --users same_file
    python moving_in.py keycloak export/*.json --to moved

It writes clients.toml for `ostiary apply`, people-1.jsonl and so on for `ostiary user import`, and
subjects.csv with the identifier that each of them had there. What cannot come along is said on standard
error, a line each. Passwords stay as they were hashed, and of a secret only its SHA-256 is written. It needs
nothing but Python.
"""

import argparse
import csv
import json
import os
import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin

Fields = dict[str, Any]

SCOPES: Final = ["user.read"]
"""The one scope that there is."""
_SECRET: Final = re.compile(r"[\x21-\x7e]{22,256}")
"""What may be a secret that was drawn at random. Only of such a one a digest says nothing."""
_MOST_PEOPLE: Final = 2000
"""In one file of `ostiary user import`."""
_OF_KEYCLOAK: Final = frozenset(
    ("account", "account-console", "admin-cli", "broker", "realm-management", "security-admin-console")
)
"""The clients that each realm has for Keycloak itself."""


class Move:
    """What comes along from the other server, and what is said of all that does not."""

    def __init__(self) -> None:
        self.people: list[Fields] = []
        self.subjects: list[tuple[str, str]] = []
        self.clients: dict[str, Fields] = {}
        self.left: list[str] = []

    def add_person(self, subject: str, password_hash: str | None, **fields: object) -> None:
        """`subject` is the identifier that third parties know them by."""
        if password_hash is None:
            self.left.append(f"person {fields['username']}: has no password that can be verified elsewhere")
        else:
            fields["passwordHash"] = password_hash
        self.people.append({name: value for name, value in fields.items() if value is not None})
        self.subjects.append((str(fields["username"]), subject))

    def add_client(self, client_id: str, secret: str | None, *, asks: bool, **fields: object) -> None:
        """`asks` is whether users are asked for consent; `secret` is what it is, where anybody knows it."""
        scopes = {"scopes": SCOPES, "autoApproveScopes": [] if asks else SCOPES}
        self.clients[client_id] = {**fields, **scopes}
        if secret is not None and _SECRET.fullmatch(secret):
            self.clients[client_id]["secretDigest"] = f"sha256:{sha256(secret.encode()).hexdigest()}"
        else:
            unknown = "its secret is not in the export: add secretFile, or it gets a new one"
            why = unknown if secret is None else "gets a new secret, as its own is too short"
            self.left.append(f"client {client_id}: {why}")

    def leave_client(self, client_id: str, why: str) -> None:
        self.left.append(f"client {client_id}: left out, {why}")


def _name(first: str, last: str) -> str:
    is_chinese = any("\u4e00" <= each <= "\u9fff" for each in first + last)
    return f"{last}{first}" if is_chinese else f"{first} {last}".strip()


# --- Django, and django-oauth-toolkit in it: the records of `dumpdata`


def move_django(records: Iterable[Mapping[str, Any]], move: Move) -> None:
    """Users are told by their password, applications by their grant, whatever their models are called."""
    for record in records:
        fields = record["fields"]
        if "authorization_grant_type" in fields:
            _move_application(fields, move)
        elif "password" in fields:
            username = fields.get("username") or fields["email"]
            if fields.get("is_superuser") or fields.get("is_staff"):
                move.left.append(f"person {username}: has no role, and was staff")
            move.add_person(
                str(record["pk"]),
                django_hash(fields["password"]),
                username=username,
                name=_name(fields.get("first_name", ""), fields.get("last_name", "")) or username,
                enabled=fields.get("is_active", True),
            )


def _move_application(fields: Mapping[str, Any], move: Move) -> None:
    grants = {
        "authorization-code": ["authorization_code", "refresh_token"],
        "client-credentials": ["client_credentials"],
    }
    client_id, grant = fields["client_id"], fields["authorization_grant_type"]
    if fields["client_type"] != "confidential":
        return move.leave_client(client_id, "as it is public and keeps no secret")
    if grant not in grants:
        return move.leave_client(client_id, f"as there is no grant {grant}")
    is_hashed = re.match(r"[a-z0-9_]+\$.", fields["client_secret"])
    move.add_client(
        client_id,
        None if is_hashed else fields["client_secret"],
        asks=not fields["skip_authorization"],
        name=fields["name"] or client_id,
        grantTypes=grants[grant],
        redirectUris=fields["redirect_uris"].split(),
    )
    return None


def django_hash(text: str) -> str | None:
    """What Ostiary takes of what Django kept of a password, or None."""
    algorithm, _, rest = text.partition("$")
    if algorithm in ("pbkdf2_sha256", "argon2", "bcrypt", "bcrypt_sha256"):
        return text
    if algorithm == "scrypt":
        cost, salt, block, lanes, digest = rest.split("$")
        return _phc(f"$scrypt$ln={int(cost).bit_length() - 1},r={block},p={lanes}", salt.encode(), digest)
    return None


# --- Keycloak: realms, and files of their users


def move_keycloak(realms: Iterable[Mapping[str, Any]], move: Move) -> None:
    for realm in realms:
        for client in realm.get("clients", ()):
            if client["clientId"] not in _OF_KEYCLOAK:
                _move_keycloak_client(client, move)
        for user in realm.get("users", ()):
            if "serviceAccountClientId" not in user:
                _move_keycloak_user(user, move)


def _move_keycloak_client(client: Mapping[str, Any], move: Move) -> None:
    client_id, secret = client["clientId"], client.get("secret")
    grants = [
        *(["authorization_code", "refresh_token"] if client.get("standardFlowEnabled", True) else []),
        *(["client_credentials"] if client.get("serviceAccountsEnabled") else []),
    ]
    if client.get("protocol", "openid-connect") != "openid-connect":
        return move.leave_client(client_id, f"as it speaks {client['protocol']}")
    if client.get("publicClient") or client.get("bearerOnly"):
        return move.leave_client(client_id, "as it is public or bearer-only and keeps no secret")
    if not grants:
        return move.leave_client(client_id, "as it has neither the standard flow nor a service account")
    if secret and not secret.strip("*"):
        sys.exit("moving_in: the Admin Console masks what is secret; export with `kc.sh export`")
    addresses = [urljoin(client.get("rootUrl") or "", each) for each in client.get("redirectUris", ())]
    for address in addresses:
        if "*" in address:
            move.left.append(f"client {client_id}: write out which addresses {address} stands for")
    move.add_client(
        client_id,
        None if secret and secret.startswith("${") else secret,
        asks=client.get("consentRequired", False),
        name=client.get("name") or client_id,
        grantTypes=grants,
        redirectUris=[address for address in addresses if "*" not in address],
        enabled=client.get("enabled", True),
    )
    return None


def _move_keycloak_user(user: Mapping[str, Any], move: Move) -> None:
    username, credentials = user["username"], user.get("credentials", ())
    others = sorted({each["type"] for each in credentials if each["type"] != "password"})
    if others:
        move.left.append(f"person {username}: signs in without their {' and '.join(others)}")
    passwords = (each for each in credentials if each["type"] == "password" and "secretData" in each)
    phone = next(iter(user.get("attributes", {}).get("phoneNumber", ())), None)
    move.add_person(
        user.get("id", ""),
        next((keycloak_hash(each) for each in passwords), None),
        username=username,
        name=_name(user.get("firstName", ""), user.get("lastName", "")) or username,
        phone=phone and re.sub(r"[^+\d]", "", phone),
        enabled=user.get("enabled", True),
        mustChangePassword="UPDATE_PASSWORD" in user.get("requiredActions", ()),
    )


def keycloak_hash(credential: Mapping[str, Any]) -> str | None:
    """What Ostiary takes of what Keycloak kept of a password, or None."""
    secret, data = json.loads(credential["secretData"]), json.loads(credential["credentialData"])
    algorithm, passes = data["algorithm"], data["hashIterations"]
    salt = b64decode(secret["salt"])
    if algorithm in ("pbkdf2-sha256", "pbkdf2-sha512"):
        return _phc(f"${algorithm}${passes}", salt, secret["value"]).replace("+", ".")
    if algorithm == "argon2":
        named = {name: values[0] for name, values in data["additionalParameters"].items()}
        if (named["type"], named["version"]) == ("id", "1.3"):
            cost = f"m={named['memory']},t={passes},p={named['parallelism']}"
            return _phc(f"$argon2id$v=19${cost}", salt, secret["value"])
    return None


def _phc(head: str, salt: bytes, digest: str) -> str:
    """A hash in the form of the Password Hashing Competition, whose Base64 has no padding."""
    return f"{head}${b64encode(salt).decode().rstrip('=')}${digest.rstrip('=')}"


# --- files


def toml_of(clients: Mapping[str, Fields]) -> Iterator[str]:
    """The lines of a TOML, which writes texts, lists and yes or no as JSON does."""
    for client_id, fields in clients.items():
        yield f"[clients.{json.dumps(client_id)}]"
        yield from (f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items())
        yield ""


def write_files(move: Move, folder: Path) -> None:
    """Write all of it for the eyes of the owner alone. Raises `OSError` where a file is there already."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(folder / "clients.toml", toml_of(move.clients))
    for start in range(0, len(move.people), _MOST_PEOPLE):
        people = move.people[start : start + _MOST_PEOPLE]
        path = folder / f"people-{start // _MOST_PEOPLE + 1}.jsonl"
        _write(path, (json.dumps(each, ensure_ascii=False) for each in people))
    with _opened(folder / "subjects.csv") as file:
        csv.writer(file).writerows([("username", "sub"), *move.subjects])


def _write(path: Path, lines: Iterable[str]) -> None:
    with _opened(path) as file:
        file.writelines(f"{line}\n" for line in lines)


def _opened(path: Path) -> Any:
    return open(
        path, "x", encoding="utf-8", newline="", opener=lambda name, flags: os.open(name, flags, 0o600)
    )


def main() -> None:
    read: dict[str, Callable[[Iterable[Any], Move], None]] = {
        "django": move_django,
        "keycloak": move_keycloak,
    }
    parser = argparse.ArgumentParser(description="Makes of another server's export what Ostiary takes over.")
    parser.add_argument("server", choices=read)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--to", required=True, type=Path, metavar="FOLDER")
    asked = parser.parse_args()
    move = Move()
    for path in asked.files:
        content = json.loads(path.read_text(encoding="utf-8"))
        read[asked.server](content if isinstance(content, list) else [content], move)
    write_files(move, asked.to)
    print(*move.left, sep="\n", file=sys.stderr)
    print(f"{len(move.clients)} clients and {len(move.people)} people are in {asked.to}")


if __name__ == "__main__":
    main()
