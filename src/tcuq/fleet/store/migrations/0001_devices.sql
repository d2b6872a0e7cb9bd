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
-- values, and a difference taken outside the row's lock could be counted twice. There is no index but the
-- primary key, so that updates stay in their page (heap-only tuples).
CREATE TABLE devices (
    device bigint PRIMARY KEY,
    boot bigint NOT NULL,
    sequence bigint NOT NULL,
    steps bigint NOT NULL,
    abstained bigint NOT NULL,
    denied bigint NOT NULL,
    exceeded bigint NOT NULL,
    steps_added bigint NOT NULL,
    abstained_added bigint NOT NULL,
    denied_added bigint NOT NULL,
    exceeded_added bigint NOT NULL,
    last_seen timestamptz NOT NULL,
    profile integer NOT NULL,
    firmware integer NOT NULL,
    site integer NOT NULL,
    alarms integer NOT NULL,
    alarms_added integer NOT NULL,
    threshold integer NOT NULL,
    epoch integer NOT NULL,
    closed_epoch integer NOT NULL DEFAULT -1, -- last closed epoch; below 0: none under this firmware
    evidence_q8 smallint NOT NULL,            -- of the current epoch
    closed_evidence_q8 smallint NOT NULL DEFAULT 0,
    histogram_shift smallint NOT NULL,
    closing boolean NOT NULL DEFAULT false,   -- the last record was the first of its epoch
    histogram bytea NOT NULL                  -- as in the record
) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);

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

-- A device's history: one row per epoch, with the counters of the first record after the epoch.
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
    evidence_q8 smallint NOT NULL,
    histogram_shift smallint NOT NULL,
    histogram bytea NOT NULL,
    PRIMARY KEY (device, stored)
);

CREATE TABLE dead_letters (
    digest bytea PRIMARY KEY, -- of reason, topic and payload: a repeated dead letter is one row
    reason smallint NOT NULL,
    topic text NOT NULL,
    payload bytea NOT NULL,
    stored timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dead_letters_stored ON dead_letters (stored);
