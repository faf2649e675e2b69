"""The command line refuses what means nothing: with 2, and in words that say what was expected."""

from pathlib import Path

import pytest

from fuzz.command_line import main

SIGN_IN = "    1         1.000 s  sign-in            user=ann"
AFTERWARDS = "    2         1.000 s  "


def told_of(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *command: str) -> str:
    """What is said of a file with this content; it is one line."""
    file = tmp_path / "edited"
    file.write_text(content, encoding="utf-8")
    assert main([*command, str(file)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    path, _, words = told.err.partition(": ")
    assert path == str(file)
    assert words.endswith("\n")
    assert "\n" not in words[:-1]
    return words


UNREADABLE = [
    (AFTERWARDS + "sign-in user=ann colour=red", "got 'colour=red'"),
    (AFTERWARDS + "sign-in user=ann crash=yes", "got 'crash=yes'"),
    (AFTERWARDS + "sign-in user=ann user=ben", "expected user once, got 'user=ben' too"),
    (AFTERWARDS + "fly user=ann", "expected one of redeem, "),
    (AFTERWARDS + "refresh token=refresh@x", "expected access@NUMBER, "),
    (AFTERWARDS + "refresh token=ticket@1", "got 'ticket@1'"),
    (AFTERWARDS + "approve by=access@1 uri=-1", "expected a number, got '-1'"),
    (AFTERWARDS + "approve by=access@1 twist=upside-down", "expected one of wrong-secret, "),
    (AFTERWARDS + "change-client client=app change=role", "expected change=one-uri|"),
    (AFTERWARDS + "sign-in user=ann change=role", "expected no change= with sign-in"),
    ("    2         0.999 s  sign-in user=ann", "expected 1.000 s or later, got 0.999 s"),
    ("    1         1.000 s  sign-in user=ann", "expected a number above 1, got 1"),
    ("    2          soon s  sign-in user=ann", "expected 'NUMBER SECONDS s VERB ...'"),
    ("hello", "got 'hello'"),
]


@pytest.mark.parametrize("line, expected", UNREADABLE)
def test_a_line_of_a_trace_that_says_what_no_step_says_is_refused(
    line: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = told_of(f"# a remark\nworld fixed\n{SIGN_IN}\n{line}\n", tmp_path, capsys, "replay")
    assert words.startswith("line 4: expected ")
    assert expected in words


@pytest.mark.parametrize("line, expected", UNREADABLE)
def test_a_line_of_a_plan_that_says_what_no_step_says_is_refused(
    line: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = f"# a remark\nseed 1\n{SIGN_IN} | instance=0\n{line} | instance=0\n"
    words = told_of(plan, tmp_path, capsys, "simulate", "--replay")
    assert words.startswith("line 4: expected ")
    assert expected in words


@pytest.mark.parametrize("mishap", ["colour=red", "instance=x", "hurry=1", "later"])
def test_a_mishap_that_is_none_is_refused(
    mishap: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = told_of(f"seed 1\n{SIGN_IN} | {mishap}\n", tmp_path, capsys, "simulate", "--replay")
    assert words.startswith("line 2: expected one of ")
    assert f"got {mishap!r}" in words


@pytest.mark.parametrize("content", ["", "# nothing but a remark\n", SIGN_IN, "world abc\n", "world 1/-1\n"])
def test_a_trace_without_its_world_is_refused(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "SEED/NUMBER" in told_of(content, tmp_path, capsys, "replay")


@pytest.mark.parametrize("content", ["", SIGN_IN, "seed\n"])
def test_a_plan_without_its_seed_is_refused(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "seed N" in told_of(content, tmp_path, capsys, "simulate", "--replay")


@pytest.mark.parametrize("command", [["replay"], ["simulate", "--replay"]])
def test_a_file_that_cannot_be_read_is_told_in_one_line(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing, binary = tmp_path / "missing", tmp_path / "binary"
    binary.write_bytes(b"\xff")
    for file, why in ((missing, "No such file or directory"), (binary, "expected text in UTF-8")):
        assert main([*command, str(file)]) == 2
        assert capsys.readouterr().err == f"{file}: {why}\n"


@pytest.mark.parametrize("command", [["--selftest"], ["simulate", "--selftest"]])
def test_a_selftest_of_no_fault_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--only", "nosuch"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("--only: no fault's name has 'nosuch'; there are ")


def test_a_target_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parsers", "--target", "nosuch"]) == 2
    assert capsys.readouterr().err.startswith("--target: no target 'nosuch'; there are ")


@pytest.mark.parametrize(
    "command",
    [
        "sequences --steps -5",
        "sequences --steps 0",
        "sequences --jobs -1",
        "sequences --failures 0",
        "sequences --world -1",
        "explore --depth 0",
        "simulate --seeds 0",
        "simulate --jobs -1",
        "simulate --failures 0",
        "crash --kills 0",
        "crash --world -1",
        "crash --seconds 0",
        "races --rounds 0",
        "races --workers 0",
        "races --seconds nan",
        "parsers --seconds -1",
    ],
)
def test_a_number_that_means_nothing_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(command.split())
    assert left.value.code == 2
    assert "expected " in capsys.readouterr().err
