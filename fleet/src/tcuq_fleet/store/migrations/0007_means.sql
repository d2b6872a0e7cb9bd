-- SPDX-License-Identifier: Apache-2.0
-- Means over a device's epochs, in the record's units (docs/spec/record.md), and rankings by estimated accuracy.

ALTER TABLE epochs
    ADD expected_error smallint,
    ADD health smallint,
    ADD novelty smallint,
    ADD confidence smallint,
    ADD label_changes smallint;

-- The reporting devices with the lowest estimated accuracy, of the newest judgement.
CREATE TABLE least_accurate (
    device bigint PRIMARY KEY,
    profile integer NOT NULL,
    firmware integer NOT NULL,
    site integer NOT NULL,
    expected_error smallint NOT NULL
);
CREATE INDEX least_accurate_order ON least_accurate (expected_error DESC, device);

-- Sums over the reporting devices that have an estimate, of the newest judgement.
CREATE TABLE firmware_accuracy (
    firmware integer NOT NULL,
    owner integer NOT NULL, -- of their sites; 0: none
    devices bigint NOT NULL,
    expected_error bigint NOT NULL,
    PRIMARY KEY (firmware, owner)
);
