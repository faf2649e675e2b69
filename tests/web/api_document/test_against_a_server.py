"""The document is true: Schemathesis calls everything it promises, on a running server, rightly and wrongly.

A short run by default. `API_DOCUMENT_CASES=40` makes a longer one, with the boundaries of every schema and
sequences of calls, as CI does at night and a person may before a release.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.web.account.pictures import png
from tests.web.api_document.test_imports import sheet_about
from tests.web.command_line.machine import Machine
from tests.web.resources.sheets import sheet_of
from tests.web.resources.test_convention import CLIENTS, ROLES, USERS

HERE = Path(__file__).parent
CASES = int(os.environ.get("API_DOCUMENT_CASES", "3"))
THOROUGH_FROM = 20


def test_the_server_does_what_its_document_says(tmp_path: Path) -> None:
    machine = Machine(tmp_path, API_DOCS_ENABLED="true", RATE_LIMIT_SCALE="1000000")
    (tmp_path / "api-auth-avatar").write_bytes(png())
    for kind in (CLIENTS, USERS, ROLES):
        path = f"{kind.path}/import".strip("/").replace("/", "-")
        (tmp_path / path).write_bytes(sheet_of(sheet_about(kind, "one", "two")))
    with machine.serving() as address:
        secret = machine.script("client", "create", "app", "--redirect-uri", "https://app.example/cb")[
            "secret"
        ]
        phases = "examples,coverage,fuzzing" if CASES >= THOROUGH_FROM else "examples,fuzzing"
        run = subprocess.run(
            [
                Path(sys.executable).with_name("st"),
                f"--config-file={HERE / 'schemathesis.toml'}",
                "run",
                f"{address}/api/docs-json",
                f"--phases={phases}",
                f"--max-examples={CASES}",
                "--generation-database=none",
                "--continue-on-failure",
                "--no-color",
            ],
            cwd=tmp_path,
            env={
                **os.environ,
                **machine.environment,
                "SCHEMATHESIS_HOOKS": str(HERE / "credentials.py"),
                "OSTIARY_ADDRESS": address,
                "CLIENT_SECRET": secret,
            },
            capture_output=True,
            text=True,
            timeout=300 if CASES < THOROUGH_FROM else 3_600,
            check=False,
        )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr
    assert "No issues found" in run.stdout
