-- SPDX-License-Identifier: Apache-2.0
-- Devices' latest states, cohorts by the hour, closed epochs, dead letters.
--
-- Unsigned numbers of the record: device is a bigint and profile, firmware are integers of the same bits
-- (they are names: only ever compared for equality); everything that is counted or ordered is a bigint.

CREATE TABLE sites (
    site integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE
);

-- One row a device. The *_added columns hold what the last record added: an update cannot return old
-- values, and subtracting anywhere but under the row's lock counts twice. No index but the key: an
-- update then stays in its page.
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
    seen timestamptz NOT NULL,
    profile integer NOT NULL,
    firmware integer NOT NULL,
    site integer NOT NULL,
    alarms integer NOT NULL,
    alarms_added integer NOT NULL,
    threshold integer NOT NULL,
    epoch integer NOT NULL,
    closed_epoch integer NOT NULL DEFAULT -1, -- the last whole one; below 0: none yet of this firmware
    evidence_q8 smallint NOT NULL,            -- of the present epoch, so far
    closed_evidence_q8 smallint NOT NULL DEFAULT 0,
    histogram_shift smallint NOT NULL,
    closing boolean NOT NULL DEFAULT false,   -- the last record was the first of a new epoch
    histogram bytea NOT NULL                  -- as in the record
) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);

CREATE TABLE cohorts (
    profile integer NOT NULL,
    firmware integer NOT NULL,
    site integer NOT NULL,
    hour timestamptz NOT NULL, -- of storing: a record has no clock
    records bigint NOT NULL,
    steps bigint NOT NULL,
    abstained bigint NOT NULL,
    denied bigint NOT NULL,
    exceeded bigint NOT NULL,
    alarms bigint NOT NULL,
    PRIMARY KEY (hour, profile, firmware, site)
);

-- A device's past: one row an epoch, with the counters as its first record after the epoch gave them.
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
    digest bytea PRIMARY KEY, -- of reason, topic and payload: the same letter twice is one row
    reason smallint NOT NULL,
    topic text NOT NULL,
    payload bytea NOT NULL,
    stored timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dead_letters_stored ON dead_letters (stored);
