# SPDX-License-Identifier: Apache-2.0
"""tcuq watch: files, pipes, serial ports and a real broker's topic."""

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from paho.mqtt import publish

import tcuq
from tcuq.cli import main
from tcuq.demo import demo_stream
from tcuq.errors import InputError
from tcuq.monitor import Monitor
from tcuq.profile.quantize import health_integers
from tcuq.stream import KINDS
from tcuq.watch import Screen, Step, Tally, mqtt_lines, parse_step, recorded_steps
from tests.fixtures.broker import Broker
from tests.fixtures.healthy_streams import ROUGH, health_profile, healthy_stream
from tests.fixtures.terminal import rendered

FAULT = str(Path(tcuq.__file__).parent / "data/keywords/fault_clipping.npz")
FIRST = 300
SECONDS = 60
# The command line, also where the tests themselves run in a shell's background, deaf to Ctrl-C.
INTERRUPTIBLE = """
import signal, sys
from tcuq.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(main(sys.argv[1:]))
"""


class Terminal(io.StringIO):
    """Text that says it is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def as_line(posterior: np.ndarray, features: np.ndarray) -> str:
    """A step as its line."""
    return ",".join(repr(float(value)) for value in [*posterior, *features])


def test_a_pipe_is_quiet(saved: str, output_of: Callable[..., str]) -> None:
    """Where nobody watches, a line for each alarm, one that explains it, and one at the end."""
    *alarms, last = output_of("watch", saved, FAULT).splitlines()
    assert last.startswith(f"steps {len(tcuq.Stream.load(FAULT))} accept ")
    assert alarms
    assert all(line.startswith("step ") and " alarm " in line for line in alarms[::2])
    assert all(line.startswith(("  The ", "  Inputs")) for line in alarms[1::2])


def test_the_panel_fits_80_columns(profile: tcuq.Profile, test_stream: tcuq.Stream) -> None:
    """No line is wider, whatever has happened; the last risk, budget and alarm are there."""
    tally = Tally(profile)
    assert max(map(len, rendered(tally, "x" * 200).splitlines())) <= 80
    for step in recorded_steps(test_stream[:500], None):
        tally.update(step)
    text = rendered(tally, "test.npz")
    assert max(map(len, text.splitlines())) <= 80
    assert f"{tally.recent[-1].risk:.4f}" in text
    assert "of 16 left" in text
    estimate = Monitor(profile).run(test_stream[:500]).estimated_accuracy(500)[-1]
    assert f"{estimate:.1%} of the last 500 predictions are probably right" in text
    assert re.search(r"^alarm +none *$", text, re.MULTILINE)


def test_a_terminal_shows_the_last_state(
    profile: tcuq.Profile, test_stream: tcuq.Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal ends with the final counts; without rich it gets lines and a hint."""
    tally = Tally(profile)
    for installed in (True, False):
        monkeypatch.setattr("tcuq.watch.view.find_spec", lambda _, known=installed: known or None)
        out = Terminal()
        screen = Screen(out, "test")
        for step in recorded_steps(test_stream[:3], None):
            screen.show(tally, tally.update(step))
        screen.close(tally, failed=False)
        assert f"accept {tally.outcomes[tcuq.Outcome.ACCEPT]}" in out.getvalue()
        assert ("budget" in out.getvalue()) == installed


def test_budget_left_is_the_devices(profile: tcuq.Profile) -> None:
    """The bucket beside the monitor holds what the monitor's own does: it denies when empty."""
    tally = Tally(profile)
    for step in recorded_steps(demo_stream("fault_clipping"), None):
        before = tally.tokens + profile.budget.rate_q16 / 65536
        decision = tally.update(step)
        if decision is not None and decision.outcome == tcuq.Outcome.DENIED:
            assert before < 1
        if decision is not None and decision.outcome == tcuq.Outcome.ABSTAIN:
            assert before >= 1
    assert tally.outcomes[tcuq.Outcome.DENIED] > 0


def test_lines_on_standard_input(saved: str, test_stream: tcuq.Stream) -> None:
    """Numbers, JSON, gaps and rubbish through a real pipe."""
    assert test_stream.features is not None
    rows = list(zip(test_stream.posteriors[:20], test_stream.features[:20], strict=True))
    lines = [as_line(*row) for row in rows[:10]] + [""]
    lines += [
        json.dumps({"posterior": p.astype(float).tolist(), "features": f.astype(float).tolist()})
        for p, f in rows[10:]
    ]
    rubbish = ["1,2,3", "boot ok", '{"posterior": 3}', "nan," * 38 + "nan", "[" * 5000, "{" * 5000]
    rubbish.append(json.dumps({"posterior": [10**400] + [0] * 9, "features": [0] * 32}))
    done = subprocess.run(
        [sys.executable, "-m", "tcuq.cli", "watch", saved, "-", "--json"],
        input="\n".join([*lines, *rubbish]) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    totals = json.loads(done.stdout)
    assert (totals["steps"], totals["gaps"], totals["invalid"]) == (20, 1, len(rubbish))
    assert done.stderr == "tcuq: the first invalid line: a step must have 42 or 46 numbers, got 3\n"


def test_quantised_lines(profile: tcuq.Profile, test_stream: tcuq.Stream) -> None:
    """Bytes as tcuq_step takes them give the decision that their step gives."""
    rows, columns = Monitor(profile).quantize(test_stream.posteriors, test_stream.features)
    assert columns is not None
    monitor, tally = Monitor(profile), Tally(profile)
    for row, column in zip(rows[:50], columns[:50], strict=True):
        line = " ".join(map(str, [*row, *column]))
        step = parse_step(line, profile, quantised=True)
        assert tally.update(step) == monitor.step(row, column)
    for wrong in ("0.5 " * 39, "256 " + "0 " * 38, "1 " * 38 + "200"):
        assert parse_step(wrong, profile, quantised=True).posterior is None


@pytest.mark.parametrize("form", ["numbers", "json", "quantised"])
def test_lines_with_health(form: str) -> None:
    """Input health comes after the features or by name; lines without it are steps, too."""
    profile, stream = health_profile(), healthy_stream(400, seed=2, rough_from=200)
    assert stream.features is not None
    assert stream.health is not None
    rows, columns = Monitor(profile).quantize(stream.posteriors, stream.features)
    health = health_integers(stream.health)
    assert columns is not None
    tally = Tally(profile)
    for step in range(len(stream)):
        parts = [stream.posteriors[step], stream.features[step], stream.health[step]]
        if form == "quantised":
            parts = [rows[step], columns[step], health[step]]
        numbers = [part.tolist() for part in parts]
        line = ",".join(str(number) for part in numbers for number in part)
        if form == "json":
            line = json.dumps(dict(zip(("posterior", "features", "health"), numbers, strict=True)))
        if step and step in stream.starts:
            tally.update(Step(None, gap=True))
        tally.update(parse_step(line, profile, quantised=form == "quantised"))
    assert dict(tally.alarms) == Monitor(profile).run(stream).alarms
    assert ROUGH in rendered(tally, "")
    assert (tally.steps, tally.invalid, tally.without_health) == (400, 0, 0)
    short = ",".join(str(number) for number in [*rows[0], *columns[0]])
    assert tally.update(parse_step(short, profile, quantised=True)) is not None
    assert tally.without_health == 1
    assert "1 without health" in rendered(tally, "")
    for wrong in (f"{short},1", f"{short},1,40000", f"{short},0.5,1"):
        assert parse_step(wrong, profile, quantised=True).posterior is None


def test_a_serial_port(
    saved: str, test_stream: tcuq.Stream, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines through a pseudo-terminal, as from a board; unplugging it ends the watch."""
    assert test_stream.features is not None
    board, port = os.openpty()
    name = os.ttyname(port)
    text = "\n".join(
        as_line(p, f)
        for p, f in zip(test_stream.posteriors[:30], test_stream.features[:30], strict=True)
    )

    def speak() -> None:
        while termios.tcgetattr(port)[3] & termios.ECHO:  # until the watcher has opened it
            time.sleep(0.05)
        time.sleep(0.3)
        for line in text.splitlines():
            os.write(board, f"{line}\n".encode())
        time.sleep(1)
        os.close(board)

    speaker = threading.Thread(target=speak, daemon=True)
    speaker.start()
    assert main(["watch", saved, f"serial:{name}"]) == 1
    speaker.join(10)
    os.close(port)
    output = capsys.readouterr()
    assert output.out.splitlines()[-1].startswith("steps 30 accept ")
    assert name in output.err


def test_refusals(
    saved: str,
    profile: tcuq.Profile,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    synthetic: Callable[..., tcuq.Stream],
) -> None:
    """Streams of another kind or shape, a port that is not there, a rate that is none."""

    def refused(*words: object) -> str:
        assert main(["watch", *map(str, words)]) == 1
        return capsys.readouterr().err

    (kind,) = set(KINDS) - {profile.inputs.kind, "outputs"}
    synthetic(20, classes=profile.inputs.classes, kind=kind).save(tmp_path / "kind.npz")
    synthetic(20, classes=profile.inputs.classes + 1).save(tmp_path / "classes.npz")
    assert "the stream's kind must be" in refused(saved, tmp_path / "kind.npz")
    assert "posteriors must have" in refused(saved, tmp_path / "classes.npz")
    assert "/dev/no-such-port" in refused(saved, "serial:/dev/no-such-port")
    assert "rate must lie above 0" in refused(saved, FAULT, "--rate", "-1")
    health_profile().save(tmp_path / "health.json")
    other = healthy_stream(20, seed=2)
    one = tcuq.Stream(other.posteriors, other.features, health=np.asarray(other.health)[:, :1])
    one.save(tmp_path / "one.npz")
    message = refused(tmp_path / "health.json", tmp_path / "one.npz")
    assert "health must have the shape (20, 2)" in message


def test_rate_is_kept(test_stream: tcuq.Stream) -> None:
    """Twenty steps at a hundred a second take a fifth of a second."""
    begun = time.monotonic()
    steps = list(recorded_steps(test_stream[:21], 100.0))
    assert 0.19 <= time.monotonic() - begun < 2
    assert len([s for s in steps if isinstance(s, Step)]) == 21


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker for one test."""
    server = Broker(tmp_path)
    yield server
    server.stop()


def test_a_topic(saved: str, test_stream: tcuq.Stream, broker: Broker) -> None:
    """Steps published one by one and several a message are decided on; Ctrl-C ends it well."""
    lines = [
        " ".join(repr(float(value)) for value in [*posterior, *features])
        for posterior, features in zip(
            test_stream.posteriors[:30], np.asarray(test_stream.features)[:30], strict=True
        )
    ]
    watch = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTIBLE, "watch", saved, "--json",
         f"mqtt://127.0.0.1:{broker.port}/field/7"],
        stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    broker.wait_for("Sending SUBACK")
    messages = [*lines[:20], "\n".join(lines[20:])]
    publish.multiple(
        [("field/7", message, 1, False) for message in messages],
        hostname="127.0.0.1",
        port=broker.port,
    )
    for _ in messages:
        broker.wait_for("Received PUBACK")
    time.sleep(1)  # what was received is decided on
    watch.send_signal(signal.SIGINT)
    output, _ = watch.communicate(timeout=SECONDS)
    assert watch.returncode == 0
    assert json.loads(output)["steps"] == 30


def test_no_broker(saved: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A port where nobody listens is an error that names the host."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    assert main(["watch", saved, f"mqtt://127.0.0.1:{port}/x"]) == 1
    assert "127.0.0.1: no broker answers" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["mqtt://host", "mqtt:///topic", "mqtt://host:x/t", "http://h/t"])
def test_what_is_no_topic(url: str) -> None:
    """A URL without a host, a port that is none, another scheme."""
    with pytest.raises(InputError):
        next(mqtt_lines(url))
