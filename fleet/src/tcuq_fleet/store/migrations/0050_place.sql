-- SPDX-License-Identifier: Apache-2.0
-- Which devices this database holds: those whose hash modulo `databases` is `place` (tcuq_fleet/store/places.py).

CREATE TABLE place (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    place smallint NOT NULL DEFAULT 0,
    databases smallint NOT NULL DEFAULT 1,
    emptied boolean NOT NULL DEFAULT true, -- false: rows of devices that moved to another database are still here
    CHECK (place >= 0 AND place < databases AND databases & (databases - 1) = 0)
);
INSERT INTO place DEFAULT VALUES;
