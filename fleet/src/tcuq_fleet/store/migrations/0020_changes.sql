-- SPDX-License-Identifier: Apache-2.0
-- The verdict "changed": a device's last epoch against its own past, ranked among its peers. Only the judge writes here.

ALTER TYPE alarm_kind ADD VALUE 'changed';
-- What moved most, from 1: a mean of the record in its order, 6 the evidence; below 0 if it fell.
ALTER TABLE alarms ADD moved smallint;
-- The order in which active alarms are listed: changes, silence, then tickets; groups first.
DROP INDEX alarms_listed;
CREATE INDEX alarms_listed ON alarms ((kind IN ('device', 'group')), (kind = 'silent'), (device IS NOT NULL),
    state DESC, evidence DESC, alarm) WHERE state <> 'closed';

-- One row per device that has closed an epoch. Means are in the record's units, evidence above 0 in half bits.
CREATE TABLE changes (
    device bigint PRIMARY KEY,
    owner integer NOT NULL,           -- of its site when the epoch was judged; 0: none
    profile integer NOT NULL,
    epoch integer NOT NULL,           -- the closed epoch that the last_* are of
    past_epochs smallint NOT NULL,    -- earlier epochs with this profile, whose means the past_* are
    past_expected_error real NOT NULL,
    past_health real NOT NULL,
    past_novelty real NOT NULL,
    past_confidence real NOT NULL,
    past_label_changes real NOT NULL,
    past_evidence real NOT NULL,
    last_expected_error smallint NOT NULL,
    last_health smallint NOT NULL,
    last_novelty smallint NOT NULL,
    last_confidence smallint NOT NULL,
    last_label_changes smallint NOT NULL,
    last_evidence smallint NOT NULL,
    score smallint NOT NULL,          -- bucket of the distance from the past; below 0: too few past epochs or peers
    moved smallint NOT NULL
) WITH (fillfactor = 75, autovacuum_vacuum_scale_factor = 0.05);
-- Rows on their way into `changes`; empty between judgements.
CREATE UNLOGGED TABLE changes_stage (LIKE changes);

-- Scores of calm devices by the week in which their next epoch closed. Statistic 0: distance of the means from
-- the past, 1: rise of the evidence.
CREATE TABLE change_reference (
    owner integer NOT NULL,
    profile integer NOT NULL,
    week date NOT NULL,
    statistic smallint NOT NULL,
    bucket smallint NOT NULL,
    scores bigint NOT NULL,
    PRIMARY KEY (owner, profile, week, statistic, bucket)
);

-- Devices whose change could be judged, and those changed, by owner of their sites (0: none).
CREATE TABLE change_counts (
    judgement bigint NOT NULL REFERENCES judgements ON DELETE CASCADE,
    owner integer NOT NULL,
    tested bigint NOT NULL,
    changed bigint NOT NULL,
    cutoff_q8 integer,                -- least evidence of a changed device; null: none is changed
    PRIMARY KEY (judgement, owner)
);

-- The changed devices of the newest judgement; only those with the most evidence if there are very many.
CREATE TABLE changed (
    device bigint PRIMARY KEY,
    profile integer NOT NULL,
    firmware integer NOT NULL,
    site integer NOT NULL,
    evidence_q8 integer NOT NULL,     -- -256 log2 of the p-value
    moved smallint NOT NULL
);
CREATE INDEX changed_order ON changed (evidence_q8 DESC, device);
