-- SPDX-License-Identifier: Apache-2.0
-- How a device's last alarm differs from calibration, and its last label, in place of the threshold.

ALTER TABLE devices
    DROP threshold,
    ADD change smallint NOT NULL DEFAULT 0,   -- in eighths, as in the record
    ADD label smallint NOT NULL DEFAULT 255;  -- 255: none, or one that a byte does not hold
