# SPDX-License-Identifier: Apache-2.0
"""Sources of steps: a recorded stream, or lines from a pipe, a serial port or an MQTT topic.

A line holds one step: the posterior, the features, then, if known, input health, separated by
commas or blanks; or a JSON object with `posterior`, `features` and `health`. An empty line is a
gap: the monitor forgets its history.
"""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import MissingExtraError, StreamError
from tcuq.profile import Profile
from tcuq.stream import Stream

MAX_LINE = 1 << 20
MAX_REASON = 100
READ_SECONDS = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step, or a gap before the next step; `invalid` says what is wrong with a line."""

    posterior: NDArray[Any] | None
    features: NDArray[Any] | None = None
    health: NDArray[Any] | None = None
    gap: bool = False
    invalid: str = ""


def recorded_steps(stream: Stream, rate: float | None) -> Iterator[Step]:
    """Yield the steps of a recorded stream at `rate` steps per second, or at once if None."""
    starts = set(stream.starts.tolist())
    begin = time.monotonic()
    for step in range(len(stream)):
        if rate is not None:
            time.sleep(max(0.0, begin + step / rate - time.monotonic()))
        if step and step in starts:
            yield Step(None, gap=True)
        features = None if stream.features is None else stream.features[step]
        health = None if stream.health is None else stream.health[step]
        yield Step(stream.posteriors[step], features, health)


def steps_from(
    lines: Iterable[str | bytes], profile: Profile, *, quantised: bool
) -> Iterator[Step]:
    """Parse each line of text as a step."""
    for line in lines:
        yield parse_step(line, profile, quantised=quantised)


def parse_step(line: str | bytes, profile: Profile, *, quantised: bool) -> Step:
    """Parse a line; an invalid one gives a step that says why."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    if not text.strip():
        return Step(None, gap=True)
    classes, width = profile.inputs.classes, profile.inputs.width
    statistics = len(profile.signals.health_names)
    try:
        numbers = _numbers(text[:MAX_LINE], {classes + width, classes + width + statistics})
    except (ValueError, OverflowError) as error:
        return Step(None, invalid=str(error)[:MAX_REASON])
    except (TypeError, KeyError, RecursionError):
        return Step(None, invalid="JSON must be an object with a list of numbers as posterior")
    posterior, features, health = np.split(numbers, [classes, classes + width])
    if quantised:
        try:
            posterior = _integers(posterior, np.uint8)
            features, health = _integers(features, np.int8), _integers(health, np.int16)
        except ValueError as error:
            return Step(None, invalid=str(error))
    return Step(posterior, features if width else None, health if health.size else None)


def _numbers(text: str, counts: set[int]) -> NDArray[Any]:
    """Parse finite numbers; raise ValueError if there are others, or another count."""
    if text.lstrip().startswith("{"):
        document = json.loads(text)
        parts = (document["posterior"], document.get("features", ()), document.get("health", ()))
        values = [value for part in parts for value in part]
    else:
        values = text.replace(",", " ").split()
    if len(values) not in counts:
        expected = " or ".join(map(str, sorted(counts)))
        raise ValueError(f"a step must have {expected} numbers, got {len(values)}")
    numbers = np.array([float(value) for value in values])
    if not np.isfinite(numbers).all():
        raise ValueError("a step's numbers must be finite")
    return numbers


def _integers(numbers: NDArray[Any], dtype: type[np.integer]) -> NDArray[Any]:
    """Convert whole numbers; raise ValueError if one is not, or does not fit."""
    limits = np.iinfo(dtype)
    inside = (numbers >= limits.min) & (numbers <= limits.max) & (numbers == np.rint(numbers))
    if not inside.all():
        raise ValueError(f"numbers must be whole and lie in {limits.min}..{limits.max}")
    return numbers.astype(dtype)


def serial_lines(port: str, baud: int) -> Iterator[bytes]:
    """Yield lines from a serial port until it is unplugged."""
    try:
        import serial
    except ImportError:
        raise MissingExtraError("pyserial", "tcuq[serial]") from None
    try:
        with serial.Serial(port, baud, timeout=READ_SECONDS) as device:
            rest = b""
            while True:
                rest += device.read(max(1, device.in_waiting))
                *lines, rest = rest[-MAX_LINE:].split(b"\n")
                yield from lines
    except (serial.SerialException, OSError, ValueError) as error:
        raise StreamError(f"{port}: {error}") from None
