# SPDX-License-Identifier: Apache-2.0
"""Inputs the fuzzer starts from: profiles, more steps than their rings hold, forgeries.

The order of bytes is that of decode_profile.c, decode_stages.c and harness.c; the same each time.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tools.fuzz.sample_seeds import sample_inputs

LARGE, FEATURES, PROJECTED, NOVEL, ANCHORED, ALARMED, TELEMETRY, SPARE = (1 << i for i in range(8))
NEAR_ZERO, LOW, HIGH, EITHER_END, ANY, SPARSE = range(6)  # how a table is filled
SAME, TURNED, NEGATED, FRESH = range(4)  # how a step follows from the one before
LEAST, MOST, ABOVE, BELOW = range(1, 5)  # what an extreme snapshot holds
POINTERS = 22  # that may be null, one at a time
MEMBERS, TABLES = (*range(29), *range(60, 68), *range(70, 76)), range(40, 47)
EXTREME_VALUES = 115  # of a snapshot, at most
ANCHORED_SCORE = 12  # the byte of weight_shift that makes it 0
ONE, EVERY = 1, 0xFFFF  # elements of a table that are bent
ENDS = (("ordinary", None), ("least", False), ("most", True))  # of all numbers of a profile at once


@dataclass(frozen=True, slots=True)
class Numbers:
    """How a profile's numbers are written: as they are, or all at one end of their range."""

    end: bool | None = None

    def __call__(self, *numbers: tuple[int, int, int]) -> bytes:
        """Encode numbers, each as (value, low, high)."""
        return b"".join(self._one(*number) for number in numbers)

    def _one(self, value: int, low: int, high: int) -> bytes:
        narrow = high - low < 65536
        if self.end is not None:
            raw = (0xFFFF if self.end else 0) * (1 if narrow else 65537)
        else:
            raw = value - low
        return struct.pack("<H" if narrow else "<I", raw)


def series(mode: int, seed: int) -> bytes:
    """Return a table's mode and seed."""
    return struct.pack("<BH", mode, seed)


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the score."""

    signal: int
    ewma: int = 0
    points: int = 16
    filled: int = NEAR_ZERO
    share: int = 0  # of novelty, in 1/256

    def encode(self, numbers: Numbers) -> bytes:
        """Encode a term of weight 1 without dead zone, capped at 8 bits, points from the middle."""
        head = struct.pack("<4B", self.signal, 0, self.ewma, self.points - 1)
        q10, full = (0, 16384), (0, 65535)
        head += numbers((0, *full), (8 << 10, *q10), (256, *q10), (128, *q10))
        head += numbers((self.share, 0, 256), (64, *full), (3, *q10))
        return head + series(self.filled, 3) + series(self.filled, 5) + struct.pack("<H", 32768)


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel of the alarm, with blocks of 2^(4 + power) steps."""

    signal: int
    two_sided: int = 0
    power: int = 0

    def encode(self, numbers: Numbers) -> bytes:
        """Encode gains and counts that alarm soon."""
        head = struct.pack("<4B", self.signal, self.signal % 5, self.two_sided, self.power)
        wide, gain, count = (-(2**31), 2**31 - 1), (-32768, 32767), (1, 65519)
        head += numbers((900, 1, 32767), (0, -(2**30), 2**30))
        head += numbers((0, *wide), (1 << 12, *wide), (1 << 18, *wide))
        head += numbers((-120, *gain), (40, *gain), (200, *gain), (700, *gain))
        return head + numbers(*((k, *count) for k in (9000, 900, 180, 16, 120, 32, 16)))


@dataclass(frozen=True, slots=True)
class Model:
    """A sound profile: what its shape does not name stays out."""

    shape: int
    classes: int = 2
    dimensions: int = 1
    width: int = 1
    lags: tuple[int, ...] = (1,)
    means: int = 2
    terms: tuple[Term, ...] = ()
    channels: tuple[Channel, ...] = ()
    health: int = 0
    stay: int = 1280
    alarm_limit: int = 5 << 14
    epoch_steps: int = 40
    filled: int = ANY
    anchored: bool = True  # else terms serve novelty alone

    def encode(
        self, bends: Sequence[tuple[int, int, int]] = (), null: int = 0, end: bool | None = None
    ) -> bytes:
        """Encode it with some members bent (which, index, raw) and one pointer null."""
        gaps = [b - a - 1 for a, b in zip((0, *self.lags), self.lags, strict=False)]
        sizes, numbers = Numbers(), Numbers(end)
        q15, level, weight = (0, 32768), (0, 16384), (-32768, 32767)
        bias = (-(2**29), 2**29)
        large = self.shape & LARGE
        means = sizes((self.means // 2, 1, 4096 if large else 6)) + struct.pack("<B", 16)
        parts = [
            struct.pack("<3B", self.shape, len(bends), null),
            *(struct.pack("<BHI", *bend) for bend in bends),
            struct.pack("<I", 0x5EED) + sizes((self.classes, 2, 1000 if large else 16)),
            struct.pack("<B", self.dimensions - 1),
            sizes((self.width, 1, 65535 if large else 256)),
            struct.pack("<9B", len(self.lags) - 1, *gaps, *[0] * (8 - len(gaps))),
            numbers((16384, *q15), (self.stay, 0, 25600), (160, 0, 768), (128, 1, 256)),
            struct.pack("<B", 8),
            means if self.shape & NOVEL else b"",
            struct.pack("<B", self.health),
            numbers((26214, *q15)) + struct.pack("<B", ANCHORED_SCORE if self.anchored else 0),
            numbers(*((w, *weight) for w in (8000, 8000, 4000, 12000))),
            numbers((-(1 << 17), *bias), (-(1 << 17), *bias), (5000, 0, 65535)),
            struct.pack("<2B", 1, 1),
            numbers((6553, 1, 65535), (80, 1, 8192), (9000, *level), (12000, *level)),
            struct.pack("<I", 20) + numbers((9000, 0, 65536), (4 << 16, 0, 2**31 - 1)),
            struct.pack("<B", len(self.terms) - 1) if self.terms else b"",
            self._alarm(numbers) if self.channels else b"",
            series(ANY, 7),  # weights of lags
            series(self.filled, 11) + series(self.filled, 13) if self.shape & PROJECTED else b"",
            b"".join(series(self.filled, s) for s in (17, 1, 23)) if self.shape & NOVEL else b"",
            series(self.filled, 27) + series(self.filled, 31) if self.health else b"",
            *(term.encode(numbers) for term in self.terms),
            *(channel.encode(numbers) for channel in self.channels),
        ]
        return b"".join(parts)

    def _alarm(self, numbers: Numbers) -> bytes:
        head = struct.pack("<B", len(self.channels) - 1)
        return head + numbers((self.alarm_limit, 1, 20 << 24), (self.epoch_steps, 1, 2**31 - 1))


def steps(
    count: int,
    posterior: int = ANY,
    features: int = ANY,
    *,
    how: int = FRESH,
    health: int = ANY,
    lacking: int = 0,
) -> bytes:
    """Encode steps; `lacking` has a bit for each of eight without input health."""
    head = struct.pack("<B", 0) if count == 1 else struct.pack("<BH", 2, count - 1)
    tables = series(posterior, 29) + series(features, 31) + series(health, 37)
    return head + struct.pack("<B", how) + tables + struct.pack("<B", lacking)


def damaged(*edits: tuple[int, int]) -> bytes:
    """Encode a restore of a snapshot with bytes changed."""
    return struct.pack("<3B", 4, len(edits), 0) + _edits(edits)


def forged(*edits: tuple[int, int]) -> bytes:
    """Encode the same under a true checksum; places from 32768 on count from the end."""
    return struct.pack("<3B", 5, len(edits), 0) + _edits(edits)


def extreme(*choices: int) -> bytes:
    """Encode a restore of extreme values in the order of extremes.c; the last repeats."""
    rest = [choices[-1]] * (EXTREME_VALUES - len(choices))
    return struct.pack("<3B", 6, 0, 0) + bytes(choices) + bytes(rest)


def _edits(edits: Sequence[tuple[int, int]]) -> bytes:
    return b"".join(struct.pack("<HB", *edit) for edit in edits)


POWER_CUT, RECORD, RESET_HISTORY = b"\x03", b"\x07\x01", b"\x08"
EVIDENCE, RESTART = b"\x09", b"\x0a"
SHORT_BUFFER, UNKNOWN_STATUS = b"\x0b\x05\x00" + bytes(4), b"\x0b\x00\x00" + b"\x00\x00\x00\x80"
SHORT_SNAPSHOT, NO_SNAPSHOT = b"\x04\x00\xf0\x09\x00", b"\x04\x00\xef"
SMALL_RECORD, NO_IDENTITY, NO_RECORD = b"\x07\x90", b"\x07\x7f", b"\x07\x7e"

EVERYTHING = Model(
    FEATURES | NOVEL | ANCHORED | ALARMED | TELEMETRY,
    classes=10,
    dimensions=32,
    width=32,
    lags=(1, 2, 4),
    means=10,
    terms=(
        Term(4, share=64),
        Term(5, share=192),
        Term(5, ewma=3),
        Term(0, points=64),
        Term(2, points=1),
        Term(3),
        Term(6, ewma=4),
    ),
    channels=(
        Channel(7),
        Channel(5, two_sided=1),
        Channel(0, 1),
        Channel(1, 1, power=9),
        Channel(8),
    ),
    health=6,
)
MODELS = {
    "small": Model(0),
    "everything": EVERYTHING,
    "tcuq": Model(FEATURES | TELEMETRY, classes=7, dimensions=5, lags=(1, 3)),
    "wide": Model(FEATURES | PROJECTED | NOVEL | TELEMETRY | SPARE, 4, 14, 200, (1, 2), 4),
    "widest": Model(LARGE | FEATURES | PROJECTED, 2, 1, 65535, filled=LOW),
    "many": Model(LARGE | ANCHORED | TELEMETRY, classes=1000, lags=(1, 2, 4), terms=(Term(0),)),
    "longest": Model(
        ALARMED | SPARE, classes=3, lags=(1, 2, 3, 5, 8, 13, 21, 255), channels=(Channel(0),)
    ),
    "ten": replace(EVERYTHING, terms=(Term(4, filled=HIGH, share=256),) * 10, filled=LOW),
    "novelty": Model(ANCHORED, classes=3, terms=(Term(4, share=256),), anchored=False),
}
BENT = {
    "whole": replace(EVERYTHING, shape=EVERYTHING.shape | PROJECTED, width=40),
    "bare": Model(SPARE),
    "projected": Model(FEATURES | PROJECTED, dimensions=3, width=9),
    "blind": Model(ANCHORED | ALARMED, terms=(Term(4),) * 2, channels=(Channel(4),) * 2),
}
EXTREMES = 15 + 7 + 5 * 12 + 8  # values of EVERYTHING's snapshot, up to the first of the histogram
MIXED = (
    steps(1), steps(12), POWER_CUT, steps(3, HIGH), steps(3, LOW), RECORD, EVIDENCE, steps(20),
    damaged((20, 1)), damaged((0, 1)), SHORT_SNAPSHOT, NO_SNAPSHOT, steps(2), RESET_HISTORY,
    steps(9), EVIDENCE, POWER_CUT, steps(9), RESTART, steps(9), forged((1, 1)),
    forged((4, 1)), forged((8, 1)), forged((11, 1)), forged(), steps(9),
    SHORT_BUFFER, UNKNOWN_STATUS, SMALL_RECORD, NO_IDENTITY, NO_RECORD,
)  # fmt: skip
# Numbers just inside and outside of bounds; from 128 on a bend takes 2^low byte + second byte.
RAW = (0, 1, 4, 24, 31, 0x7F, 0x4000, 0x7000, 0x8000, 0xFFFF, 0x7FFFFFFF, 0xBFFFFFFF, 0xFFFFFFFF)
NEAR_POWERS = tuple(power | delta << 8 for power in range(32) for delta in (0, 1, 0xFF))


def inputs() -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every seed."""
    for name, model in MODELS.items():
        yield f"{name}-mixed", model.encode() + b"".join(MIXED)
        for where, end in ENDS:
            for how in range(4):
                run = steps(9, how=how) + POWER_CUT + steps(40, EITHER_END, EITHER_END, how=how)
                yield f"{name}-{where}-steps-{how}", model.encode(end=end) + run
            yield from _restored(f"{name}-{where}", model.encode(end=end), 0)
    yield from _restored("everything-each", EVERYTHING.encode(), EXTREMES)
    for posterior in range(6):
        for features in range(6):
            first, rest = steps(6, posterior, features), steps(20, ANY, SPARSE)
            content = EVERYTHING.encode() + first + rest + POWER_CUT + steps(3)
            yield f"filled-{posterior}{features}", content
    yield from _bent()
    yield from sample_inputs()


def _restored(name: str, model: bytes, each: int) -> Iterator[tuple[str, bytes]]:
    run = steps(40, EITHER_END, EITHER_END, how=NEGATED) + RECORD + EVIDENCE
    for choice in (LEAST, MOST, ABOVE, BELOW):
        yield f"{name}-{choice}", model + steps(7) + extreme(choice) + run
        for at in range(each):
            among_kept, among_most = [0] * at + [choice, 0], [MOST] * at + [choice, MOST]
            yield f"{name}-{choice}-{at}-kept", model + extreme(*among_kept) + run
            yield f"{name}-{choice}-{at}-most", model + steps(7) + extreme(*among_most) + run


def _bent() -> Iterator[tuple[str, bytes]]:
    run = steps(20, EITHER_END, EITHER_END, how=NEGATED) + POWER_CUT + steps(5) + RECORD
    for name, model in BENT.items():
        for which in MEMBERS:
            for raw in RAW:
                yield f"{name}-{which}-{raw}", model.encode([(which, ONE, raw)]) + run
                yield (
                    f"{name}-{which}-{raw}-most",
                    model.encode([(which, ONE, raw)], end=True) + run,
                )
    whole = BENT["whole"]
    for width in (0, 33):
        bent = [(2, 0, width), (3, 0, width)]
        yield f"width-{width}", Model(FEATURES | NOVEL).encode(bent) + run
        yield f"plain-width-{width}", Model(FEATURES).encode(bent) + run
    for which in TABLES:
        for index in (ONE, EVERY):
            for raw in NEAR_POWERS:
                yield f"{which}-{index}-{raw}", whole.encode([(which | 128, index, raw)]) + run
    for null in range(1, POINTERS + 1):
        for spare in (0, SPARE):
            model = replace(whole, shape=whole.shape | spare)
            yield f"null-{null}-{spare}", model.encode(null=null) + run


def write(folder: Path) -> None:
    """Write every seed as a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in inputs():
        (folder / name).write_bytes(content)
