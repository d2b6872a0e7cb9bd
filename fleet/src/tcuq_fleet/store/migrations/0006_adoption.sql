-- SPDX-License-Identifier: Apache-2.0
-- Devices by profile, of the newest judgement: how far a new profile has been adopted.
CREATE TABLE profile_counts (
    profile integer NOT NULL,
    owner integer NOT NULL, -- of their sites; 0: none
    devices bigint NOT NULL,
    silent bigint NOT NULL,
    PRIMARY KEY (profile, owner)
);
