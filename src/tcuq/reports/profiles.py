# SPDX-License-Identifier: Apache-2.0
"""What the page says of a profile itself: how it was calibrated and what it costs."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from tcuq.charts import legend, stacked_bar
from tcuq.charts.markup import element
from tcuq.firmware import footprint as size
from tcuq.firmware.footprint import nearest_instructions
from tcuq.monitor import Monitor
from tcuq.profile import Profile
from tcuq.profile.quantize import quantize
from tcuq.reports.view import View

KEY_COLUMNS = 11  # of a summary's line, before its text
CPU = "cortex-m4"
PARTS = {
    "monitor": "pointers",
    "core": "ledger, bucket, epoch",
    "slots": "past steps",
    "posteriors": "past posteriors",
    "features": "past features",
    "smoothed_q8": "smoothed terms",
    "channels": "alarm channels",
    "telemetry": "telemetry",
}


def calibration(view: View) -> Iterator[Element]:
    """The profile's summary, its channels as a list, its warnings."""
    facts: dict[str, list[str]] = {}
    key = ""
    for line in view.profile.summary().splitlines():
        key = line[:KEY_COLUMNS].strip() or key
        facts.setdefault(key, []).append(line[KEY_COLUMNS:].strip())
    facts.pop("warning", None)
    alarm, *channels = facts.pop("alarm")
    pairs = [
        part
        for name, lines in facts.items()
        for part in (element("dt", name), element("dd", " ".join(lines)))
    ]
    items = [element("li", " ".join(channel.split())) for channel in channels]
    listed = element("ul", *items, class_="channels") if items else None
    yield element(
        "dl", *pairs, element("dt", "alarm"), element("dd", alarm, listed), class_="facts"
    )
    for finding in view.profile.provenance.findings:
        yield element("p", element("strong", "Warning: "), finding.sentence, class_="warning")


def cost(view: View) -> Iterator[Element]:
    """The costs, and where the bytes of RAM are."""
    known = costs(view.profile)
    pairs = [part for n, v in known.items() for part in (element("dt", n), element("dd", v))]
    yield element("dl", *pairs, class_="facts")
    parts = ram_parts(view.profile)
    listed = [f"{name} {size}" for name, size in parts]
    yield stacked_bar(parts, f"RAM in bytes: {', '.join(listed)}")
    yield legend([(f"box series{index}", text) for index, text in enumerate(listed)])


def costs(profile: Profile) -> dict[str, str]:
    """Return each cost of a profile by name."""
    inputs, built = profile.inputs, size.footprint(profile, CPU)
    nearest = nearest_instructions(profile, CPU)
    statistics = quantize(profile)["health_count"]
    return {
        "RAM, all state": f"{built.ram:,} bytes",
        f"flash, {CPU}": f"{built.flash:,} bytes",
        f"instructions per step, {CPU}": f"{nearest.mean:,}, {nearest.note}",
        "snapshot that survives a power cut": f"{len(Monitor(profile).snapshot()):,} bytes",
        "read at every step": f"{inputs.classes + inputs.width + 2 * statistics:,} bytes",
    }


def ram_parts(profile: Profile) -> list[tuple[str, int]]:
    """Return the bytes of each part of the state on a 32-bit CPU, telemetry included."""
    parts = size.ram_parts(quantize(profile), telemetry=True)
    return [(PARTS[name], count) for name, count in parts.items()]
