-- SPDX-License-Identifier: Apache-2.0
-- A function with its owner's rights must not find its caller's temporary tables before the fleet's own.
ALTER FUNCTION maintain_partitions SET search_path = public, pg_temp;
