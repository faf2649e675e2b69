"""The command line refuses what means nothing: with 2, and in words that say what was expected."""

from pathlib import Path

import pytest

from fuzz.command_line import main

SIGN_IN = '{"number":1,"at":1000,"verb":"sign-in","user":"ann"}'


def read_refusal(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *command: str) -> str:
    """Return the one line that is printed about a file with this content."""
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
    ('{"number":2,"at":1000,"verb":"sign-in","colour":"red"}', "unknown field `colour`"),
    ('{"number":2,"at":1000,"verb":"fly"}', "Invalid enum value 'fly'"),
    ('{"number":2,"at":1000,"verb":"refresh","token":"refresh@1"}', "Expected `object | null`, got `str`"),
    ('{"number":2,"at":1000,"verb":"refresh","token":{"kind":"coupon","number":1}}', "enum value 'coupon'"),
    ('{"number":2,"at":1000,"verb":"approve","uri":-1}', "Expected `int` >= 0"),
    ('{"number":2,"at":1000,"verb":"change-client","change":"role"}', "expected one of one-uri, "),
    ('{"number":2,"at":1000,"verb":"sign-in","change":"role"}', "expected nothing as the change of sign-in"),
    ('{"number":2,"at":999,"verb":"sign-in"}', "expected 1000 ms or later, got 999"),
    ('{"number":1,"at":1000,"verb":"sign-in"}', "expected a number above 1, got 1"),
    ("hello", "JSON is malformed"),
]


@pytest.mark.parametrize("line, expected", UNREADABLE)
def test_a_line_that_is_no_step_is_refused(
    line: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = f'{{"world":"fixed"}}\n{SIGN_IN}\n\n{line}\n'
    plan = f'{{"seed":"1"}}\n{{"step":{SIGN_IN}}}\n\n{{"step":{line}}}\n'
    for content, command in ((trace, ["replay"]), (plan, ["simulate", "--replay"])):
        words = read_refusal(content, tmp_path, capsys, *command)
        assert words.startswith("line 4: ")
        assert expected in words


@pytest.mark.parametrize("odd", ['{"colour":"red"}', '{"instance":"x"}', '{"hurry":1}', '{"fate":"later"}'])
def test_an_unknown_mishap_is_refused(odd: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = f'{{"seed":"1"}}\n{{"step":{SIGN_IN},"mishap":{odd}}}\n'
    assert "$.mishap" in read_refusal(plan, tmp_path, capsys, "simulate", "--replay")


@pytest.mark.parametrize("content", ["", "\n", SIGN_IN, '{"world":"abc"}', '{"world":"1/-1"}', '{"seed":7}'])
@pytest.mark.parametrize("command", [["replay"], ["simulate", "--replay"]])
def test_a_file_without_its_world_or_seed_is_refused(
    content: str, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read_refusal(content, tmp_path, capsys, *command)


@pytest.mark.parametrize("command", [["replay"], ["simulate", "--replay"]])
def test_a_file_that_cannot_be_read_is_refused_in_one_line(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing, binary = tmp_path / "missing", tmp_path / "binary"
    binary.write_bytes(b"\xff")
    for file, why in ((missing, "No such file or directory"), (binary, "expected text in UTF-8")):
        assert main([*command, str(file)]) == 2
        assert capsys.readouterr().err == f"{file}: {why}\n"


@pytest.mark.parametrize("command", ["", "simulate", "machine", "parsers"])
def test_a_selftest_of_no_fault_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--selftest", "--only", "nosuch"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("--only: no fault's name has 'nosuch'; there are ")


def test_an_unknown_target_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parsers", "--target", "nosuch"]) == 2
    assert "--target: no target 'nosuch'; there are " in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        *(f"sequences {option}" for option in ("--steps -5", "--steps 0", "--failures 0", "--world -1")),
        *(f"simulate {option}" for option in ("--seeds 0", "--failures 0")),
        *(f"{campaign} --jobs -1" for campaign in ("sequences", "simulate")),
        *(f"machine {option}" for option in ("--seconds 0", "--rounds 0", "--seconds nan")),
        "parsers --seconds -1",
    ],
)
def test_a_number_that_means_nothing_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 2
    assert "Invalid value" in capsys.readouterr().err
