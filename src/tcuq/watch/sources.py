# SPDX-License-Identifier: Apache-2.0
"""Where steps come from: a recorded stream, or lines of text from a pipe, a serial port or a topic.

A line is a step: numbers parted by commas or blanks, the posterior first, then the features; or a
JSON object with `posterior` and `features`. An empty line is a gap: history is forgotten there.
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
    """One step, or a gap before the next, or a line that is neither (both None)."""

    posterior: NDArray[Any] | None
    features: NDArray[Any] | None = None
    gap: bool = False


def recorded_steps(stream: Stream, rate: float | None) -> Iterator[Step]:
    """A recorded stream's steps, so many a second; as fast as they go if None."""
    starts = set(stream.starts.tolist())
    begun = time.monotonic()
    for step in range(len(stream)):
        if rate is not None:
            time.sleep(max(0.0, begun + step / rate - time.monotonic()))
        if step and step in starts:
            yield Step(None, gap=True)
        features = None if stream.features is None else stream.features[step]
        yield Step(stream.posteriors[step], features)


def steps_from(
    lines: Iterable[str | bytes], inputs: InputSettings, *, quantised: bool
) -> Iterator[Step]:
    """The steps that lines of text say."""
    for line in lines:
        yield parse_step(line, inputs, quantised=quantised)


def parse_step(line: str | bytes, inputs: InputSettings, *, quantised: bool) -> Step:
    """A line as a step; what is none has no posterior."""
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
    """So many finite numbers, or ValueError."""
    if text.lstrip().startswith("{"):
        said = json.loads(text)
        values = [*said["posterior"], *said.get("features", ())]
    else:
        values = text.replace(",", " ").split()
    if len(values) != count:
        raise ValueError(f"a step has {count} numbers, got {len(values)}")
    numbers = np.array([float(value) for value in values])
    if not np.isfinite(numbers).all():
        raise ValueError("a step's numbers must be finite")
    return numbers


def serial_lines(port: str, baud: int) -> Iterator[bytes]:
    """Lines from a serial port until it goes away."""
    try:
        import serial
    except ImportError:
        raise MissingExtraError("pyserial", "serial") from None
    try:
        with serial.Serial(port, baud, timeout=READ_SECONDS) as opened:
            held = b""
            while True:
                held += opened.read(max(1, opened.in_waiting))
                *lines, held = held[-MAX_LINE:].split(b"\n")
                yield from lines
    except (serial.SerialException, OSError, ValueError) as error:
        raise StreamError(f"{port}: {error}") from None
