-- SPDX-License-Identifier: Apache-2.0
-- What the judge said, and what the dashboard reads: nothing here is as large as the fleet.

CREATE TABLE judgements (
    judgement bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    judged timestamptz NOT NULL DEFAULT now(),
    level double precision NOT NULL,
    devices bigint NOT NULL,     -- all
    silent bigint NOT NULL,      -- that stopped reporting
    judgeable bigint NOT NULL,   -- that report and have closed an epoch
    discovered bigint NOT NULL,
    cutoff_q8 integer            -- evidence from which devices are discovered; null: none is
);

-- How many devices have how much evidence, above 0 bits: enough for e-BH at any level.
CREATE TABLE evidence (
    judgement bigint NOT NULL REFERENCES judgements ON DELETE CASCADE,
    evidence_q8 smallint NOT NULL,
    devices bigint NOT NULL,
    PRIMARY KEY (judgement, evidence_q8)
);

-- Groups of devices: by profile, firmware, site, each alone (the others null) and all three together.
CREATE TABLE groups (
    judgement bigint NOT NULL REFERENCES judgements ON DELETE CASCADE,
    profile integer,
    firmware integer,
    site integer,
    devices bigint NOT NULL,
    silent bigint NOT NULL,
    judgeable bigint NOT NULL,
    discovered bigint NOT NULL,         -- of those discovered in the whole fleet
    own_discovered bigint NOT NULL DEFAULT 0, -- by e-BH in this group alone: an error rate of its own
    own_cutoff_q8 integer,
    evidence double precision NOT NULL, -- log2 of the e-value against "fewer than the share drift"
    drifted boolean NOT NULL,           -- discovered among all groups
    named boolean NOT NULL DEFAULT false, -- drifted, and not because of another named group's devices
    UNIQUE NULLS NOT DISTINCT (judgement, profile, firmware, site)
);

-- Devices that would be discovered at the loosest level, so that lists need no scan of the fleet: of the
-- newest judgement alone, the strongest if there are very many.
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
    device bigint,   -- of kind device, and of silent devices
    profile integer, -- of kind group, and of silent groups: null means any
    firmware integer,
    site integer,
    opened timestamptz NOT NULL DEFAULT now(),
    changed timestamptz NOT NULL DEFAULT now(),
    seen integer NOT NULL DEFAULT 1,   -- epochs in a row that said so
    quiet integer NOT NULL DEFAULT 0,  -- epochs in a row that did not
    epoch bigint NOT NULL DEFAULT 0,   -- that counted last: no evidence is counted twice
    evidence double precision NOT NULL -- log2 of the e-value when last said; of silence, hours or devices
);
CREATE UNIQUE INDEX alarms_standing ON alarms (kind, device, profile, firmware, site)
    NULLS NOT DISTINCT WHERE state <> 'closed';
CREATE INDEX alarms_device ON alarms (device);
CREATE INDEX alarms_changed ON alarms (changed);
-- The order in which standing alarms are listed.
CREATE INDEX alarms_listed ON alarms ((kind = 'group') DESC, state DESC, kind, evidence DESC, alarm)
    WHERE state <> 'closed';

-- Where alarms are told, and of which judgement they know: what could not be delivered is not lost.
CREATE TABLE told (
    receiver text PRIMARY KEY,
    judged timestamptz NOT NULL
);

-- Old epochs are found without a scan: they were stored in the order of time.
CREATE INDEX epochs_stored ON epochs USING brin (stored);
