-- SPDX-License-Identifier: Apache-2.0
-- Each device's latest state, cohort sums per hour, closed epochs, dead letters.
--
-- Unsigned ids of the record are stored as signed integers of the same bits (device as bigint, profile and
-- firmware as integer), because they are only compared for equality; counters and sequences are bigint.

CREATE TABLE sites (
    site integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE
);

-- One row per device. The *_added columns hold what the last record added: an UPDATE cannot return old
-- values, and a difference taken outside the row's lock could be counted twice. Those of 32 bits hold the
-- number modulo 2^32, as a signed integer of the same bits. There is no index but the primary key, so that
-- updates stay in their page (heap-only tuples). First come the columns that the judge reads of every row,
-- then the others by their alignment: a row has 200 bytes, and a page 29 of them.
CREATE TABLE devices (
    device bigint PRIMARY KEY,
    last_seen timestamptz NOT NULL,
    profile integer NOT NULL,
    firmware integer NOT NULL,
    site integer NOT NULL,
    -- The judged evidence in 1/256 bit: log2 of the mean of the last closed and the running epoch's e-values,
    -- rounded down. Without a closed epoch its e-value is 1. Null: no evidence of this firmware alone yet.
    judged_q8 smallint GENERATED ALWAYS AS (CASE WHEN NOT mixed THEN
        128 * greatest(evidence, coalesce(closed_evidence, 0)) + (ARRAY[0, -59, -107, -145, -174, -196,
            -213, -225, -234, -241, -245, -248, -251, -252, -254, -254, -255, -255, -256])[
            1 + least(abs(evidence - coalesce(closed_evidence, 0)), 18)] END) STORED,
    evidence smallint NOT NULL,             -- of the running epoch: log2 of its e-value in half bits
    boot bigint NOT NULL,
    sequence bigint NOT NULL,
    steps bigint NOT NULL,
    abstained bigint NOT NULL,
    denied bigint NOT NULL,
    exceeded bigint NOT NULL,
    steps_added integer NOT NULL,
    abstained_added integer NOT NULL,
    denied_added integer NOT NULL,
    exceeded_added integer NOT NULL,
    alarms integer NOT NULL,
    alarms_added integer NOT NULL,
    epoch integer NOT NULL,                 -- the running epoch's number, counted by the device
    closed_epoch integer,                   -- the last closed epoch; null: none with this profile and firmware
    closed_evidence smallint,               -- of the last closed epoch; null: none
    cause smallint NOT NULL,                -- of the device's last alarm, as in the record
    change smallint NOT NULL DEFAULT 0,     -- how the last alarm differs from calibration: eighths, as in the record
    label smallint NOT NULL DEFAULT 255,    -- the last one; 255: none, or one that a byte does not hold
    histogram_shift smallint NOT NULL,
    -- How the last record was authenticated: 0 by nobody but its gateway or broker, 1 by the device's own
    -- certificate, 2 by its signature. A device that has signed stays at 2.
    trust smallint NOT NULL DEFAULT 0,
    -- Means in the record's units (docs/spec/record.md), of the last closed epoch with this profile and firmware,
    -- or of the first one so far; null: none.
    expected_error smallint,
    health smallint,
    novelty smallint,
    confidence smallint,
    label_changes smallint,
    mixed boolean NOT NULL DEFAULT false,   -- the running epoch began under another firmware
    closing boolean NOT NULL,               -- the last record was the first after an epoch
    histogram bytea NOT NULL,               -- as in the record
    CHECK ((closed_epoch IS NULL) = (closed_evidence IS NULL))
) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);

-- What records do not say about a profile, registered by `tcuq fleet migrate --profile`.
CREATE TABLE profiles (
    profile integer PRIMARY KEY,
    health_names text[] NOT NULL -- of the statistics of input health, in order
);

CREATE TABLE cohorts (
    profile integer NOT NULL,
    firmware integer NOT NULL,
    site integer NOT NULL,
    hour timestamptz NOT NULL, -- when stored: a record has no timestamp
    records bigint NOT NULL,
    steps bigint NOT NULL,
    abstained bigint NOT NULL,
    denied bigint NOT NULL,
    exceeded bigint NOT NULL,
    alarms bigint NOT NULL,
    PRIMARY KEY (hour, profile, firmware, site)
);

-- A device's history: one row per closed epoch, with the counters of the first record after it.
CREATE TABLE epochs (
    device bigint NOT NULL,
    boot bigint NOT NULL,
    steps bigint NOT NULL,
    abstained bigint NOT NULL,
    denied bigint NOT NULL,
    exceeded bigint NOT NULL,
    stored timestamptz NOT NULL,
    alarms integer NOT NULL,
    epoch integer NOT NULL,
    evidence smallint NOT NULL, -- in half bits
    histogram_shift smallint NOT NULL,
    histogram bytea NOT NULL,
    PRIMARY KEY (device, boot, epoch)
);

CREATE TABLE dead_letters (
    digest bytea PRIMARY KEY, -- of reason, topic and payload: a repeated dead letter is one row
    reason smallint NOT NULL,
    topic text NOT NULL,
    payload bytea NOT NULL,
    stored timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dead_letters_stored ON dead_letters (stored);
