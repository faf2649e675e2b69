"""The document is true: Schemathesis sends right and wrong calls of every operation to a running server.

By default the run is short and the same each time; `.ci/run` has three cases of each operation.
`API_DOCUMENT_CASES=40` makes a longer run with other calls each time and with the boundaries of every schema,
for the days before a release.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.files import png, sheet_of
from tests.support.processes import Machine
from tests.web.resources.test_convention import CLIENTS, ROLES, USERS

HERE = Path(__file__).parent
CASES = int(os.environ.get("API_DOCUMENT_CASES", "1"))
THOROUGH_FROM = 20


def test_the_server_does_what_its_document_says(tmp_path: Path) -> None:
    unlimited = dict.fromkeys(("RATE_LIMIT_SCALE", "GUESS_LIMIT_SCALE"), "1000000")
    machine = Machine(tmp_path, API_DOCS_ENABLED="true", **unlimited)
    (tmp_path / "api-auth-avatar").write_bytes(png())
    for kind in (CLIENTS, USERS, ROLES):
        path = f"{kind.path}/import".strip("/").replace("/", "-")
        more = {"grantTypes": "client_credentials"} if kind is CLIENTS else {}
        headings, values = [kind.key, "name", *more], ["Somebody", *more.values()]
        (tmp_path / path).write_bytes(sheet_of([headings, ["one", *values], ["two", *values]]))
    with machine.serving() as address:
        made = machine.script("client", "create", "app", "--redirect-uri", "https://app.example/cb")
        thorough = CASES >= THOROUGH_FROM
        run = subprocess.run(
            [
                *(Path(sys.executable).with_name("st"), f"--config-file={HERE / 'schemathesis.toml'}"),
                *("run", f"{address}/api/docs-json"),
                f"--phases={'examples,coverage,fuzzing' if thorough else 'examples,fuzzing'}",
                f"--max-examples={CASES}",
                *([] if thorough else ["--seed=1"]),
                *("--generation-database=none", "--continue-on-failure", "--no-color"),
            ],
            cwd=tmp_path,
            env={
                **os.environ,
                **machine.environment,
                "SCHEMATHESIS_HOOKS": str(HERE / "credentials.py"),
                "OSTIARY_ADDRESS": address,
                "CLIENT_SECRET": made["secret"],
            },
            capture_output=True,
            text=True,
            timeout=3_600 if thorough else 300,
            check=False,
        )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr
    assert "No issues found" in run.stdout
