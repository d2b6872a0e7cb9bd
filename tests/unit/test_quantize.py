# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path
from typing import get_args

import tcuq.runtime
from tcuq import stream
from tcuq.profile import quantize, settings
from tcuq.profile.settings import AlarmFlag
from tcuq.stages.budget import Outcome

HEADER = Path(tcuq.runtime.__file__).with_name("tcuq.h").read_text("utf-8")
MACROS = {name: int(value) for name, value in re.findall(r"#define TCUQ_(\w+) (\d+)u\b", HEADER)}


def enumerated(name: str) -> dict[str, int]:
    """Return the members of one of the header's enums."""
    body = re.search(r"typedef enum \{([^}]*)\} tcuq_" + name, HEADER)
    assert body is not None
    return {key: int(value) for key, value in re.findall(r"TCUQ_(\w+) = (\d+)", body[1])}


def test_alarm_flags_are_the_headers() -> None:
    """A flag has one number in Python, in the spec and on the device."""
    flags = {n.removeprefix("ALARM_"): v for n, v in MACROS.items() if n.startswith("ALARM_")}
    assert flags == {flag.name: flag.value for flag in AlarmFlag}


def test_outcomes_and_signals_are_the_headers() -> None:
    """Outcomes and signals have the same numbers in Python and on the device."""
    assert enumerated("outcome") == {outcome.name: outcome.value for outcome in Outcome}
    signals = {name.upper(): index for index, name in enumerate(quantize.CHANNEL_SIGNALS)}
    assert enumerated("signal") == signals


def test_limits_are_the_headers() -> None:
    """Python's limits equal the runtime's."""
    assert {
        "MAX_CLASSES": stream.MAX_CLASSES,
        "MAX_DIMENSIONS": settings.MAX_DIMENSIONS,
        "SIGNALS": len(quantize.SIGNALS),
        "MAX_BLOCK": settings.MAX_BLOCK,
        "BOOT_STEPS": settings.BOOT_STEPS,
        "MAX_CHANNELS": len(get_args(settings.ChannelSignal)),
        "MAX_STEP": quantize.MAX_LEDGER_STEP,
        "RISK_LEVELS": settings.RISK_LEVELS,
        "TOKEN": settings.TOKEN,
    }.items() <= MACROS.items()
