# SPDX-License-Identifier: Apache-2.0
"""A fleet report.

For operators of many devices: 500 simulated ones run the real firmware code, and each sends one
97-byte record per hour. On the second day, one device in twenty begins to drift. No device sends
inputs or labels. From files of records alone, the report names most of the drifting devices within
hours and hardly any other, says why, and ranks all devices by how much of their work is probably
right.

Needs `pip install tcuq-fleet 'tcuq[plot]'`. The same judgement over MQTT and PostgreSQL, every hour
and for millions of devices, is [the fleet](../../fleet/docs/index.md).
"""

# 1. A simulated fleet.
# The monitor and the uplink of each device are the C code of a real one; only its risks are drawn
# at random. One device in twenty drifts from the second day on, and then draws higher risks.
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from tcuq.telemetry import estimated_accuracy
from tcuq_fleet.report.folder import read_folder
from tcuq_fleet.report.summary import report
from tcuq_fleet.simulate.devices import Devices, Plan, acks_of

DEVICES, HOURS, DRIFT_FROM = 500, 48, 24
plan = Plan(devices=DEVICES, hours=HOURS, drift=0.05, drift_from=DRIFT_FROM, steps=360, seed=1)
fleet, folder = Devices(plan), Path(tempfile.mkdtemp())
for site in fleet.site_names:
    (folder / site).mkdir()

# 2. Receive records every hour, and judge the fleet every second hour.
# Here a transport writes one file per site and hour. `report` is what `tcuq fleet report records`
# runs: it reads all files, whatever wrote them. A device is named if its evidence of being unlike
# calibration is large enough that at most a tenth of the named ones are expected to be false.
truly_drift = dict(zip(fleet.device.tolist(), (fleet.drifts_from < HOURS).tolist(), strict=True))
hits, false, yesterday = [], [], None
for hour in range(HOURS):
    now = 3600 * hour + 3599
    senders, records = fleet.advance(now)
    for number, site in enumerate(fleet.site_names):
        sent = records[fleet.site[senders] == number]
        (folder / site / f"hour-{hour:02}.bin").write_bytes(sent.tobytes())
    fleet.acknowledge(now, acks_of(records))
    if hour % 2 == 0:
        continue
    received = read_folder(folder)  # devices in order of their id
    summary = report(received, level=0.1, share=0.1)
    named = np.array([device["discovered"] for device in summary["each"]])
    drifting = np.array([truly_drift[int(device)] for device in received.devices["device"]])
    hits.append((named & drifting).sum())
    false.append((named & ~drifting).sum())
    if hour == DRIFT_FROM - 1:
        yesterday = estimated_accuracy(received.devices)

judged = np.arange(2, HOURS + 1, 2)
for hour, right, wrong in zip(judged, hits, false, strict=True):
    if hour in (DRIFT_FROM, DRIFT_FROM + 6, HOURS):
        print(f"hour {hour}: {right} of {drifting.sum()} drifting devices named, {wrong} others")

# 3. The report: where to look first.
# Each record carries the mean expected error of the device's last epoch, here a day, so the share
# of right labels is estimated without any label. Ranking by it is no test: it has no rate of false
# discoveries, and says where work is probably lost. The last columns say whether the device was
# named, and what its last alarm means.
accuracy = estimated_accuracy(received.devices)
ranking = np.argsort(accuracy, kind="stable")
print(f"\n{'lowest estimated accuracy':26}{'site':9}{'day 1':>7}{'day 2':>7}  named  last alarm")
for at in ranking[:8]:
    device = summary["each"][at]
    print(
        f"{device['device']:26}{device['site']:9}{yesterday[at]:7.1%}{accuracy[at]:7.1%}"
        f"  {'yes' if device['discovered'] else 'no':5}  {device['meaning'] or 'none'}"
    )
worst = ranking[: drifting.sum()]
print(f"of the {len(worst)} lowest, {drifting[worst].sum()} drift; {named[worst].sum()} are named")

# 4. What this page says, checked.
# Drifting devices are named after they drift, and hardly any other. In this simulation every
# drifting device loses as much, so the ranking separates them better than a real fleet's would.
assert not np.array(hits)[judged <= DRIFT_FROM].any()
assert hits[-1] >= 18
assert false[-1] <= 2
assert drifting[worst].mean() > 0.9

# 5. The figure.
# Left: how many were named. Right: the report after the last hour, one dot per device.
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(judged, hits, label=f"drifting, of {drifting.sum()}")
left.plot(judged, false, color="tab:red", label="other")
left.axvline(DRIFT_FROM, color="black", linestyle=":", label="drift begins")
left.set(xlabel="hour", ylabel="devices named", xlim=(2, HOURS), ylim=(-1, drifting.sum() + 1))
left.legend(loc="center right")
evidence = np.array([device["evidence_bits"] for device in summary["each"]])
for part, color, label in ((~drifting, "0.6", "other"), (drifting, "tab:blue", "drifting")):
    right.scatter(evidence[part], accuracy[part], 14, color=color, label=label)
right.axvline(summary["cutoff_bits"], color="black", linestyle="--", label="named from here on")
right.set(xlabel="bits of evidence of being unlike calibration", ylabel="estimated accuracy, day 2")
right.legend(loc="center right")
fig.savefig("drifting_fleet.png", dpi=100)
