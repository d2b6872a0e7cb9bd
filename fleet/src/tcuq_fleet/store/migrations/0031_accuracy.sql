-- SPDX-License-Identifier: Apache-2.0
-- The trend of estimated accuracy: `firmware_accuracy` as of the last judgement in each hour.
CREATE TABLE accuracy_hours (
    hour timestamptz NOT NULL,
    firmware integer NOT NULL,
    owner integer NOT NULL, -- of their sites; 0: none
    devices bigint NOT NULL,
    expected_error bigint NOT NULL,
    PRIMARY KEY (hour, firmware, owner)
);
