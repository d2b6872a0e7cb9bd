# SPDX-License-Identifier: Apache-2.0
"""Sources of steps: a recorded stream, or lines from a pipe, a serial port or an MQTT topic.

A line holds one step: the posterior, then the features, separated by commas or blanks; or a JSON
object with `posterior` and `features`. An empty line is a gap: the monitor forgets its history.
"""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tcuq.errors import MissingExtraError, StreamError
from tcuq.profile.settings import InputSettings
from tcuq.stream import Stream

MAX_LINE = 1 << 20
READ_SECONDS = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step, or a gap before the next step; without either the line was invalid."""

    posterior: NDArray[Any] | None
    features: NDArray[Any] | None = None
    gap: bool = False


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
        yield Step(stream.posteriors[step], features)


def steps_from(
    lines: Iterable[str | bytes], inputs: InputSettings, *, quantised: bool
) -> Iterator[Step]:
    """Parse each line of text as a step."""
    for line in lines:
        yield parse_step(line, inputs, quantised=quantised)


def parse_step(line: str | bytes, inputs: InputSettings, *, quantised: bool) -> Step:
    """Parse a line; an invalid one gives a step without a posterior."""
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    if not text.strip():
        return Step(None, gap=True)
    try:
        numbers = _numbers(text[:MAX_LINE], inputs.classes + inputs.width)
    except (ValueError, TypeError, KeyError, RecursionError):
        return Step(None)
    posterior, features = numbers[: inputs.classes], numbers[inputs.classes :]
    if quantised:
        low, high = np.iinfo(np.int8).min, np.iinfo(np.int8).max
        whole = (numbers == np.rint(numbers)).all()
        if not (whole and 0 <= posterior.min() <= posterior.max() <= 255):
            return Step(None)
        if features.size and not low <= features.min() <= features.max() <= high:
            return Step(None)
        posterior, features = posterior.astype(np.uint8), features.astype(np.int8)
    return Step(posterior, features if inputs.width else None)


def _numbers(text: str, count: int) -> NDArray[Any]:
    """Parse `count` finite numbers; raise ValueError if there are others."""
    if text.lstrip().startswith("{"):
        document = json.loads(text)
        values = [*document["posterior"], *document.get("features", ())]
    else:
        values = text.replace(",", " ").split()
    if len(values) != count:
        raise ValueError(f"a step has {count} numbers, got {len(values)}")
    numbers = np.array([float(value) for value in values])
    if not np.isfinite(numbers).all():
        raise ValueError("a step's numbers must be finite")
    return numbers


def serial_lines(port: str, baud: int) -> Iterator[bytes]:
    """Yield lines from a serial port until it is unplugged."""
    try:
        import serial
    except ImportError:
        raise MissingExtraError("pyserial", "serial") from None
    try:
        with serial.Serial(port, baud, timeout=READ_SECONDS) as device:
            rest = b""
            while True:
                rest += device.read(max(1, device.in_waiting))
                *lines, rest = rest[-MAX_LINE:].split(b"\n")
                yield from lines
    except (serial.SerialException, OSError, ValueError) as error:
        raise StreamError(f"{port}: {error}") from None
