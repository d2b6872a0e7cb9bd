# SPDX-License-Identifier: Apache-2.0
"""A fleet that drifts.

For operators of many devices: 500 simulated ones run the real firmware code, and each sends one
97-byte record per hour. On the second day, one device in twenty begins to drift. No device sends
inputs or labels. From the records alone, the fleet's judgement finds most of the drifting devices
within hours, and hardly any other.

Needs `pip install 'tcuq[plot]'`. The same judgement over MQTT and PostgreSQL, every hour and for
millions of devices, is [the fleet](../../fleet/docs/index.md).
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from tcuq_fleet.report.folder import read_folder
from tcuq_fleet.report.summary import report
from tcuq_fleet.simulate.devices import Devices, Plan, acks_of

DEVICES, HOURS, DRIFT_FROM = 500, 48, 24
plan = Plan(devices=DEVICES, hours=HOURS, drift=0.05, drift_from=DRIFT_FROM, steps=360, seed=1)
fleet, folder = Devices(plan), Path("records")
folder.mkdir(exist_ok=True)
names = [f"{device:016x}" for device in fleet.device.tolist()]
drifting = fleet.drifts_from < HOURS

hits, false, evidence = [], [], []
for hour in range(HOURS):
    # 1. The devices run for an hour and send their records; here, one file per hour.
    now = 3600 * hour + 3599
    _, records = fleet.advance(now)
    (folder / f"hour-{hour:02}.bin").write_bytes(records.tobytes())
    fleet.acknowledge(now, acks_of(records))
    # 2. Judge them, as `tcuq fleet report records` does: at most a tenth of the devices that it
    #    reports are expected to be false discoveries.
    devices = {each["device"]: each for each in report(read_folder(folder), 0.1, 0.1)["each"]}
    discovered = np.array([devices[name]["discovered"] for name in names])
    hits.append((discovered & drifting).sum())
    false.append((discovered & ~drifting).sum())
    evidence.append([devices[name]["evidence_bits"] for name in names])

for hour in (DRIFT_FROM - 1, DRIFT_FROM + 5, HOURS - 1):
    print(
        f"hour {hour + 1}: {hits[hour]} of {drifting.sum()} drifting devices found,"
        f" {false[hour]} false"
    )

# 3. What this page says: drifting devices are found after they drift, and hardly any other.
assert hits[DRIFT_FROM - 1] == 0
assert hits[-1] >= 18
assert false[-1] <= 2

fig, (top, bottom) = plt.subplots(2, figsize=(8, 5), sharex=True, layout="constrained")
hours = np.arange(1, HOURS + 1)
top.step(hours, hits, label=f"drifting devices found, of {drifting.sum()}")
top.step(hours, false, color="tab:red", label="false discoveries")
top.set(ylabel="devices", ylim=(-1, drifting.sum() + 1))
bottom.plot(hours, np.array(evidence)[:, ~drifting], color="0.7", linewidth=0.4)
bottom.plot(hours, np.array(evidence)[:, drifting], color="tab:blue", linewidth=0.8)
bottom.set(xlabel="hour", ylabel="bits of evidence", xlim=(1, HOURS))
bottom.plot([], color="tab:blue", label="drifting device")
bottom.plot([], color="0.7", label="other device")
for ax in (top, bottom):
    ax.axvline(DRIFT_FROM, color="black", linestyle=":", label="drift begins")
    ax.legend(loc="upper left")
fig.savefig("drifting_fleet.png", dpi=100)
