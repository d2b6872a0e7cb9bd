-- SPDX-License-Identifier: Apache-2.0
-- "Unlike calibration" is judged per owner, so that no owner's devices change a verdict of another's. Owner 0: sites without one.

ALTER TABLE owner_counts ADD cutoff_q8 integer; -- least evidence of a discovered device; null: none is discovered
UPDATE owner_counts SET cutoff_q8 = judgements.cutoff_q8 FROM judgements WHERE judgements.judgement = owner_counts.judgement;

-- Of the newest judgement only.
DELETE FROM evidence;
ALTER TABLE evidence DROP CONSTRAINT evidence_pkey, ADD owner integer NOT NULL, ADD PRIMARY KEY (judgement, owner, evidence_q8);

-- A group's devices are of one owner: a firmware version of two owners is two groups.
ALTER TABLE groups
    DROP CONSTRAINT groups_judgement_profile_firmware_site_key,
    ADD owner integer NOT NULL DEFAULT 0,
    ADD cutoff_q8 integer, -- least evidence of a drifting group of this owner; null: none drifts
    ADD UNIQUE NULLS NOT DISTINCT (judgement, profile, firmware, site, owner);
UPDATE groups SET owner = sites.owner FROM sites WHERE sites.site = groups.site AND sites.owner IS NOT NULL;

ALTER TABLE suspects ADD owner integer NOT NULL DEFAULT 0;
UPDATE suspects SET owner = sites.owner FROM sites WHERE sites.site = suspects.site AND sites.owner IS NOT NULL;
ALTER TABLE changed ADD owner integer NOT NULL DEFAULT 0;
UPDATE changed SET owner = sites.owner FROM sites WHERE sites.site = changed.site AND sites.owner IS NOT NULL;

ALTER TABLE alarms ADD owner integer; -- of a group; null: a device's, whose site has it
UPDATE alarms SET owner = coalesce((SELECT owner FROM sites WHERE sites.site = alarms.site), 0) WHERE device IS NULL;
ALTER TABLE alarms ADD CHECK ((owner IS NULL) = (device IS NOT NULL));
DROP INDEX alarms_active;
CREATE UNIQUE INDEX alarms_active ON alarms (kind, device, profile, firmware, site, owner)
    NULLS NOT DISTINCT WHERE state <> 'closed';
