# SPDX-License-Identifier: Apache-2.0
"""Report: a folder's fleet, judged as the judge judges, as plain data and as text."""

from typing import Any

import numpy as np

from tcuq.fleet.judge.groups import Groups, judge_groups, or_never
from tcuq.fleet.judge.tally import YOUNG, Group, Tally
from tcuq.fleet.report.folder import Fleet
from tcuq.fleet.wire import device_name, firmware_name
from tcuq.telemetry import COUNTERS

MOST_LINES = 20  # of a list in the text


def report(fleet: Fleet, level: float, share: float) -> dict[str, Any]:
    """What is known of a fleet: sums, the devices and groups that drift, and what was refused."""
    evidence = np.where(fleet.judgeable, np.maximum(fleet.evidence_q8, 0), YOUNG)
    names = (fleet.devices["profile"].astype(np.int64), fleet.devices["firmware"])
    ones = np.ones(len(evidence), np.int64)
    tally = Tally(np.stack([*names, fleet.site, evidence, ones], axis=1))
    found = tally.discovery(level)
    discovered = evidence >= or_never(found.cutoff_q8)
    return {
        "level": level,
        "records": fleet.records,
        "refused": {reason.name: count for reason, count in sorted(fleet.refused.items())},
        "devices": len(fleet.devices),
        "judgeable": tally.judgeable,
        "discovered": found.count,
        "cutoff_bits": None if found.cutoff_q8 is None else found.cutoff_q8 / 256,
        "groups": _groups(judge_groups(tally, level, share), fleet.sites),
        "cohorts": [
            _named(tuple(cohort), fleet.sites) | _counters(totals)
            for cohort, totals in zip(
                fleet.cohorts.tolist(), fleet.cohort_totals.tolist(), strict=True
            )
        ],
        "each": [
            {
                "device": device_name(int(newest["device"])),
                **_named((int(newest["profile"]), int(newest["firmware"]), site), fleet.sites),
                **_counters(totals),
                "evidence_bits": bits / 256 if judged else None,
                "discovered": bool(out),
            }
            for newest, site, totals, bits, judged, out in zip(
                fleet.devices,
                fleet.site.tolist(),
                fleet.totals.tolist(),
                fleet.evidence_q8.tolist(),
                fleet.judgeable,
                discovered,
                strict=True,
            )
        ],
    }


def text(said: dict[str, Any]) -> str:
    """The same for people."""
    refused = ", ".join(f"{count:,} {name.lower()}" for name, count in said["refused"].items())
    lines = [
        f"{said['devices']:,} devices, {said['records']:,} records; refused: {refused or 'none'}",
        f"{said['judgeable']:,} have closed an epoch; {said['discovered']:,} of them drift",
    ]
    named = [group for group in said["groups"] if group["named"]]
    lines += [
        f"drifted: {_whom(group)}, {group['discovered']:,} of {group['judgeable']:,} devices"
        for group in named
    ]
    drifting = sorted(
        (device for device in said["each"] if device["discovered"]),
        key=lambda device: -device["evidence_bits"],
    )
    lines += [
        f"drifted: device {device['device']} ({_whom(device)}),"
        f" {device['evidence_bits']:.1f} bits of evidence"
        for device in drifting[:MOST_LINES]
    ]
    if len(drifting) > MOST_LINES:
        lines.append(f"... and {len(drifting) - MOST_LINES:,} more; --json has all")
    lines += ["", f"{'cohort':44}" + "".join(f"{name:>12}" for name in COUNTERS)]
    lines += [
        f"{_whom(cohort):44}" + "".join(f"{cohort[name]:12,}" for name in COUNTERS)
        for cohort in said["cohorts"]
    ]
    return "\n".join(lines)


def _groups(groups: Groups, sites: list[str]) -> list[dict[str, Any]]:
    return [
        _named(name, sites)
        | {
            "devices": int(groups.devices[i]),
            "judgeable": int(groups.judgeable[i]),
            "discovered": int(groups.discovered[i]),
            "evidence_bits": float(groups.bits[i]),
            "drifted": bool(groups.drifted[i]),
            "named": bool(groups.named[i]),
        }
        for i, name in enumerate(groups.names)
    ]


def _named(group: Group, sites: list[str]) -> dict[str, str | None]:
    profile, firmware, site = group
    return {
        "profile": None if profile is None else f"{profile:08x}",
        "firmware": None if firmware is None else firmware_name(firmware),
        "site": None if site is None else sites[site],
    }


def _counters(totals: list[int]) -> dict[str, int]:
    return dict(zip(COUNTERS, totals, strict=True))


def _whom(named: dict[str, Any]) -> str:
    kinds = ("profile", "firmware", "site")
    return ", ".join(f"{kind} {named[kind]}" for kind in kinds if named[kind] is not None)
