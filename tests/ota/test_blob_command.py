# SPDX-License-Identifier: Apache-2.0
"""`tcuq export --blob`: writes what the Python function gives, and never shows a key."""

import json
from pathlib import Path

import pytest

import tcuq
from tcuq.cli import main
from tcuq.firmware import profile_blob
from tests.ota.conftest import KEY


def test_the_command_writes_a_blob(
    saved: str, profile: tcuq.Profile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file holds the function's bytes; -o writes the sources of the loader beside it."""
    (tmp_path / "key.txt").write_text(KEY.hex() + "\n")
    words = ["export", saved, "--blob", str(tmp_path / "new.blob"), "--number", "3"]
    words += ["--key", str(tmp_path / "key.txt"), "--json"]
    assert main(words) == 0
    assert (tmp_path / "new.blob").read_bytes() == profile_blob(profile, number=3, key=KEY)
    facts = json.loads(capsys.readouterr().out)
    assert facts["number"] == 3
    assert facts["profile"] == profile.sha256
    assert main([*words, "-o", str(tmp_path / "out"), "--ota"]) == 0
    assert (tmp_path / "out/src/tcuq_slots.c").is_file()


def test_what_is_missing_is_named(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a folder or file, number or key, the message says which; a key is never shown."""
    assert main(["export", saved]) == 1
    assert "give a folder with -o or a file with --blob" in capsys.readouterr().err
    blob = ["export", saved, "--blob", str(tmp_path / "new.blob")]
    assert main([*blob, "--number", "1"]) == 1
    assert "--blob needs --number and --key" in capsys.readouterr().err
    (tmp_path / "key.txt").write_text("secret words")
    assert main([*blob, "--number", "1", "--key", str(tmp_path / "key.txt")]) == 1
    error = capsys.readouterr().err
    assert "must hold hexadecimal digits, at least 32" in error
    assert "secret" not in error
    assert not (tmp_path / "new.blob").exists()
