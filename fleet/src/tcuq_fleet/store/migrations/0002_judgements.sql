-- SPDX-License-Identifier: Apache-2.0
-- Judgements and alarms, which the dashboard reads. No table here has one row per device of the fleet.

CREATE TABLE judgements (
    judgement bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    judged timestamptz NOT NULL DEFAULT now(),
    level double precision NOT NULL,
    devices bigint NOT NULL,     -- all devices
    silent bigint NOT NULL,      -- devices that stopped reporting
    judgeable bigint NOT NULL,   -- devices that report and have evidence of their firmware
    discovered bigint NOT NULL,
    cutoff_q8 integer            -- least evidence of a discovered device; null: none is discovered
);

-- Number of devices per evidence above 0 bits, which suffices for e-BH at any level.
CREATE TABLE evidence (
    judgement bigint NOT NULL REFERENCES judgements ON DELETE CASCADE,
    evidence_q8 smallint NOT NULL,
    devices bigint NOT NULL,
    PRIMARY KEY (judgement, evidence_q8)
);

-- Groups of devices by profile, by firmware, by site (the other columns null) and by all three.
CREATE TABLE groups (
    judgement bigint NOT NULL REFERENCES judgements ON DELETE CASCADE,
    profile integer,
    firmware integer,
    site integer,
    devices bigint NOT NULL,
    silent bigint NOT NULL,
    judgeable bigint NOT NULL,
    discovered bigint NOT NULL,         -- devices discovered in the whole fleet
    own_discovered bigint NOT NULL DEFAULT 0, -- by e-BH within this group: its own error rate
    own_cutoff_q8 integer,
    evidence double precision NOT NULL, -- log2 of the e-value against "fewer than the share drift"
    drifted boolean NOT NULL,           -- discovered by e-BH over all groups
    named boolean NOT NULL DEFAULT false, -- drifted, and not explained by another named group
    UNIQUE NULLS NOT DISTINCT (judgement, profile, firmware, site)
);

-- Devices discovered at the loosest level, so that lists need no scan of the fleet: only of the newest
-- judgement, and only those with the most evidence if there are very many.
CREATE TABLE suspects (
    judgement bigint NOT NULL REFERENCES judgements ON DELETE CASCADE,
    device bigint NOT NULL,
    profile integer NOT NULL,
    firmware integer NOT NULL,
    site integer NOT NULL,
    evidence_q8 smallint NOT NULL,
    PRIMARY KEY (judgement, device)
);
CREATE INDEX suspects_evidence ON suspects (judgement, evidence_q8);

CREATE TYPE alarm_kind AS ENUM ('device', 'group', 'silent');
CREATE TYPE alarm_state AS ENUM ('open', 'escalated', 'closed');

CREATE TABLE alarms (
    alarm bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind alarm_kind NOT NULL,
    state alarm_state NOT NULL DEFAULT 'open',
    device bigint,   -- of a device alarm or a silent device
    profile integer, -- of a group alarm or a silent group: null means any
    firmware integer,
    site integer,
    opened timestamptz NOT NULL DEFAULT now(),
    changed timestamptz NOT NULL DEFAULT now(),
    raised_epochs integer NOT NULL DEFAULT 1, -- consecutive epochs that raised it
    quiet_epochs integer NOT NULL DEFAULT 0,  -- consecutive epochs that did not
    epoch bigint NOT NULL DEFAULT 0,          -- counted last, so that no epoch is counted twice
    cause smallint,                           -- of the device's own last alarm, as in its record
    evidence double precision NOT NULL        -- log2 of the e-value when last raised; silence: hours or devices
);
CREATE UNIQUE INDEX alarms_active ON alarms (kind, device, profile, firmware, site)
    NULLS NOT DISTINCT WHERE state <> 'closed';
CREATE INDEX alarms_device ON alarms (device);
CREATE INDEX alarms_changed ON alarms (changed);
-- The order in which active alarms are listed.
CREATE INDEX alarms_listed ON alarms ((kind = 'group') DESC, state DESC, kind, evidence DESC, alarm)
    WHERE state <> 'closed';

-- The judgement up to which alarms were delivered to each receiver; later ones are delivered again.
CREATE TABLE deliveries (
    receiver text PRIMARY KEY,
    judged timestamptz NOT NULL
);

-- Finds old epochs without a scan: rows are stored in the order of time.
CREATE INDEX epochs_stored ON epochs USING brin (stored);
