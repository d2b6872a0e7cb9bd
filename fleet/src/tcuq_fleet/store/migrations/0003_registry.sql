-- SPDX-License-Identifier: Apache-2.0
-- The registry: who owns a site, where a device belongs, and for which sites a gateway speaks.
--
-- A known device belongs to devices.site. It claimed that site with its first record, or an operator chose it.

CREATE TABLE owners (
    owner integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE
);

ALTER TABLE sites
    ADD owner integer REFERENCES owners,
    ADD region text,
    ADD created timestamptz NOT NULL DEFAULT 'epoch'; -- of sites from before this column
ALTER TABLE sites ALTER created SET DEFAULT now();
-- Workers count the sites that devices created within the last hour.
CREATE INDEX sites_created ON sites (created);

CREATE TYPE device_state AS ENUM ('new', 'active', 'retired');

-- One row per device that an operator enrolled, named, muted, retired or released. A device without a row is active
-- once it has a row in `devices`. Workers only read this table: state 'new' means "enrolled", and ends with the
-- device's first row in `devices`.
CREATE TABLE registry (
    device bigint PRIMARY KEY,
    site integer REFERENCES sites,       -- null: the site of its first record
    name text,
    state device_state NOT NULL DEFAULT 'active',
    muted_until timestamptz,
    boot_released bigint,                -- boots up to this one are accepted, however far ahead
    note text,
    changed timestamptz NOT NULL DEFAULT now(),
    changed_by text NOT NULL DEFAULT current_user
);
-- The judge leaves retired devices out, and need not read the others' rows for that.
CREATE INDEX registry_retired ON registry (device) WHERE state = 'retired';

CREATE TABLE gateways (
    gateway text PRIMARY KEY,
    owner integer REFERENCES owners,
    token_sha256 bytea,                  -- of its token for HTTPS; null: MQTT only
    changed timestamptz NOT NULL DEFAULT now(),
    changed_by text NOT NULL DEFAULT current_user
);
CREATE TABLE gateway_sites (
    gateway text NOT NULL REFERENCES gateways ON DELETE CASCADE,
    site integer NOT NULL REFERENCES sites,
    PRIMARY KEY (gateway, site)
);

-- The last record of a known device whose boot was too far ahead; it is not stored until it is released.
CREATE TABLE quarantine (
    device bigint PRIMARY KEY,
    site integer NOT NULL,
    boot bigint NOT NULL,
    record bytea NOT NULL,               -- without checksum or signature
    count bigint NOT NULL DEFAULT 1,
    first timestamptz NOT NULL DEFAULT now(),
    last timestamptz NOT NULL DEFAULT now()
);

-- What an operator still has to decide.
CREATE VIEW quarantined AS
    SELECT q.*, d.boot AS stored_boot
    FROM quarantine q JOIN devices d USING (device) LEFT JOIN registry r USING (device)
    WHERE q.boot > d.boot AND q.boot > coalesce(r.boot_released, -1);
