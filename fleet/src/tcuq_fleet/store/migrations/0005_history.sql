-- SPDX-License-Identifier: Apache-2.0
-- History whose size and whose pages do not depend on the number of groups; acknowledged alarms.

-- Sums per hour over all sites of an owner (0: sites without one), which the fleet's page reads.
CREATE TABLE hours (
    hour timestamptz NOT NULL, -- when stored: a record has no timestamp
    owner integer NOT NULL,
    profile integer NOT NULL,
    firmware integer NOT NULL,
    records bigint NOT NULL,
    steps bigint NOT NULL,
    abstained bigint NOT NULL,
    denied bigint NOT NULL,
    exceeded bigint NOT NULL,
    alarms bigint NOT NULL,
    PRIMARY KEY (hour, owner, profile, firmware)
) WITH (fillfactor = 75);
INSERT INTO hours
SELECT hour, 0, profile, firmware, sum(records), sum(steps), sum(abstained), sum(denied), sum(exceeded),
    sum(alarms)
FROM cohorts GROUP BY hour, profile, firmware;

-- Cohorts' sums that are older than the hours kept in full, per day (of UTC) and site.
CREATE TABLE site_days (
    day date NOT NULL,
    site integer NOT NULL,
    records bigint NOT NULL,
    steps bigint NOT NULL,
    abstained bigint NOT NULL,
    denied bigint NOT NULL,
    exceeded bigint NOT NULL,
    alarms bigint NOT NULL,
    PRIMARY KEY (day, site)
);

-- The hours of one site.
CREATE INDEX cohorts_site ON cohorts (site, hour);

ALTER TABLE judgements
    ADD gone bigint NOT NULL DEFAULT 0,            -- devices silent for so long that nobody is alerted any more
    ADD all_groups boolean NOT NULL DEFAULT true;  -- whether `groups` has every group, not only the notable ones

-- Every site's devices, but only of the newest judgement; `groups` keeps the notable sites.
CREATE TABLE site_counts (
    site integer PRIMARY KEY,
    devices bigint NOT NULL,
    silent bigint NOT NULL,
    judgeable bigint NOT NULL,
    discovered bigint NOT NULL
);

-- The devices of each owner's sites; 0: sites without an owner.
CREATE TABLE owner_counts (
    judgement bigint NOT NULL REFERENCES judgements ON DELETE CASCADE,
    owner integer NOT NULL,
    devices bigint NOT NULL,
    silent bigint NOT NULL,
    judgeable bigint NOT NULL,
    discovered bigint NOT NULL,
    PRIMARY KEY (judgement, owner)
);

ALTER TABLE alarms
    ADD acknowledged timestamptz, -- null: nobody has; cleared when the alarm escalates
    ADD acknowledged_by text;
