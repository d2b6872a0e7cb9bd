# SPDX-License-Identifier: Apache-2.0
"""Report: judge a folder's devices by the judge's rule, as plain data and as text."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tcuq.telemetry import COUNTERS, cause_text, record_meaning
from tcuq_fleet.judge.ebh import cutoff_or_unreachable
from tcuq_fleet.judge.evidence_counts import YOUNG, EvidenceCounts
from tcuq_fleet.judge.groups import GroupJudgements, judge_groups
from tcuq_fleet.report.folder import FleetTotals
from tcuq_fleet.wire import device_name, firmware_name, profile_name

MAX_LINES = 20  # of a list in the text


def report(fleet: FleetTotals, level: float, share: float) -> dict[str, Any]:
    """Return counters, drifting devices and groups, and refused records, as plain data."""
    evidence = np.where(fleet.judgeable, np.maximum(fleet.evidence_q8, 0), YOUNG)
    keys = (fleet.devices["profile"].astype(np.int64), fleet.devices["firmware"])
    ones = np.ones(len(evidence), np.int64)
    counts = EvidenceCounts(np.stack([*keys, fleet.site, evidence, ones], axis=1))
    discovery = counts.discovery(level)
    discovered = evidence >= cutoff_or_unreachable(discovery.cutoff_q8)
    return {
        "level": level,
        "records": fleet.records,
        "refused": {reason.name: count for reason, count in sorted(fleet.refused.items())},
        "devices": len(fleet.devices),
        "judgeable": counts.judgeable,
        "discovered": discovery.count,
        "cutoff_bits": None if discovery.cutoff_q8 is None else discovery.cutoff_q8 / 256,
        "groups": _groups(judge_groups(counts, level, share), fleet.sites),
        "cohorts": [
            _names(tuple(cohort), fleet.sites) | _counters(totals)
            for cohort, totals in zip(
                fleet.cohorts.tolist(), fleet.cohort_totals.tolist(), strict=True
            )
        ],
        "each": [
            {
                "device": device_name(int(newest["device"])),
                **_names((int(newest["profile"]), int(newest["firmware"]), site), fleet.sites),
                **_counters(totals),
                "evidence_bits": evidence_q8 / 256 if judgeable else None,
                "cause": cause_text(int(newest["cause"])),
                "meaning": record_meaning(newest),
                "discovered": bool(is_discovered),
            }
            for newest, site, totals, evidence_q8, judgeable, is_discovered in zip(
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


def render_text(summary: dict[str, Any]) -> str:
    """Render a report as text."""
    reasons = (f"{count:,} {name.lower()}" for name, count in summary["refused"].items())
    refused = ", ".join(reasons) or "none"
    lines = [
        f"{summary['devices']:,} devices, {summary['records']:,} records; refused: {refused}",
        f"{summary['judgeable']:,} can be judged; {summary['discovered']:,} of them drift",
    ]
    named_groups = [group for group in summary["groups"] if group["named"]]
    lines += [
        f"drifted: {_describe(group)}, {group['discovered']:,} of {group['judgeable']:,} devices"
        for group in named_groups
    ]
    drifting = sorted(
        (device for device in summary["each"] if device["discovered"]),
        key=lambda device: -device["evidence_bits"],
    )
    lines += [
        f"drifted: device {device['device']} ({_describe(device)}),"
        f" {device['evidence_bits']:.1f} bits of evidence"
        + (f": {device['meaning']}" if device["cause"] else "")
        for device in drifting[:MAX_LINES]
    ]
    if len(drifting) > MAX_LINES:
        lines.append(f"... and {len(drifting) - MAX_LINES:,} more; --json has all")
    lines += ["", f"{'cohort':44}" + "".join(f"{name:>12}" for name in COUNTERS)]
    lines += [
        f"{_describe(cohort):44}" + "".join(f"{cohort[name]:12,}" for name in COUNTERS)
        for cohort in summary["cohorts"]
    ]
    return "\n".join(lines)


def _groups(groups: GroupJudgements, sites: list[str]) -> list[dict[str, Any]]:
    return [
        _names(key[:3], sites)
        | {
            "devices": int(groups.devices[i]),
            "judgeable": int(groups.judgeable[i]),
            "discovered": int(groups.discovered[i]),
            "evidence_bits": float(groups.bits[i]),
            "drifted": bool(groups.drifted[i]),
            "named": bool(groups.named[i]),
        }
        for i, key in enumerate(groups.keys)
    ]


def _names(group: Sequence[int | None], sites: list[str]) -> dict[str, str | None]:
    profile, firmware, site = group
    return {
        "profile": None if profile is None else profile_name(profile),
        "firmware": None if firmware is None else firmware_name(firmware),
        "site": None if site is None else sites[site],
    }


def _counters(totals: list[int]) -> dict[str, int]:
    return dict(zip(COUNTERS, totals, strict=True))


def _describe(names: dict[str, Any]) -> str:
    kinds = ("profile", "firmware", "site")
    return ", ".join(f"{kind} {names[kind]}" for kind in kinds if names[kind] is not None)
