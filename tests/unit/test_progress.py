# SPDX-License-Identifier: Apache-2.0
import io
import sys
import time

import pytest

from tcuq.progress import Progress

CLEAR = "\r\x1b[K"


class Terminal(io.StringIO):
    """Text output that claims to be a terminal."""

    def isatty(self) -> bool:
        """Return True, as a terminal does."""
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Replace standard error by a terminal; not a fixture, because pytest sets it before a test."""
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    return screen


def test_silent_without_a_terminal_and_at_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log or a pipe gets nothing, nor does work that ends within the patience."""
    with Progress("steps", total=3, patience_s=0) as progress:
        for _ in range(3):
            progress.advance()
    assert capsys.readouterr() == ("", "")
    terminal = watched(monkeypatch)
    with Progress("steps", total=3, patience_s=60) as progress:
        progress.advance(3)
    assert terminal.getvalue() == ""


def test_draws_one_line_and_clears_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal the line says what, how many, how fast and how long; at the end it is gone."""
    terminal = watched(monkeypatch)
    with Progress("steps", total=4000, patience_s=0) as progress:
        progress.advance(1000)
        text = terminal.getvalue()
    assert text.startswith(f"{CLEAR}steps: 1,000 of 4,000 · ")
    assert "/s · " in text
    assert text.endswith(" s left")
    assert terminal.getvalue() == text + CLEAR
    assert "\n" not in terminal.getvalue()


def test_does_not_flicker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is drawn at most ten times a second."""
    terminal = watched(monkeypatch)
    with Progress("steps", total=1000, patience_s=0) as progress:
        for _ in range(1000):
            progress.advance()
    assert terminal.getvalue().count("steps:") <= 3


def test_error_clears_the_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is cleared after an exception."""
    terminal = watched(monkeypatch)
    progress = Progress("steps", total=9, patience_s=0)
    progress.advance()
    with pytest.raises(KeyboardInterrupt), progress:
        raise KeyboardInterrupt
    assert terminal.getvalue().endswith(CLEAR)


def test_nothing_done_yet_is_no_division_by_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress of no item at no time is drawn like any other."""
    screen = watched(monkeypatch)
    monkeypatch.setattr(time, "monotonic", lambda: 0.0)
    with Progress("steps", total=2, patience_s=0) as progress:
        progress.advance(0)
    assert "steps: 0 of 2" in screen.getvalue()
