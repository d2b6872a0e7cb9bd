-- SPDX-License-Identifier: Apache-2.0
-- Partition the history by weeks (from Monday, UTC), so that retention drops tables instead of deleting rows.
--
-- Rows from before stay where they are: the old table becomes the first partition. A default partition takes rows of
-- weeks without a partition, so that storing never fails. An epoch's key ends with `stored`, because a partitioned key
-- must; within a boot a device closes each epoch once.

CREATE FUNCTION week_of(moment timestamptz) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE AS $$ SELECT date_trunc('week', moment, 'UTC') $$;

ALTER TABLE epochs RENAME TO epochs_before;
ALTER TABLE epochs_before DROP CONSTRAINT epochs_pkey;
DROP INDEX epochs_stored;
CREATE TABLE epochs (LIKE epochs_before INCLUDING DEFAULTS, PRIMARY KEY (device, boot, epoch, stored))
    PARTITION BY RANGE (stored);
CREATE TABLE epochs_default PARTITION OF epochs DEFAULT;

ALTER TABLE cohorts RENAME TO cohorts_before;
ALTER INDEX cohorts_pkey RENAME TO cohorts_before_pkey;
CREATE TABLE cohorts (LIKE cohorts_before INCLUDING DEFAULTS, PRIMARY KEY (hour, profile, firmware, site))
    PARTITION BY RANGE (hour);
CREATE TABLE cohorts_default PARTITION OF cohorts DEFAULT;

DO $$
DECLARE
    last timestamptz;
BEGIN
    SELECT week_of(greatest(now(), max(stored))) + interval '7 days' INTO last FROM epochs_before;
    EXECUTE format('ALTER TABLE epochs ATTACH PARTITION epochs_before FOR VALUES FROM (MINVALUE) TO (%L)', last);
    SELECT week_of(greatest(now(), max(hour))) + interval '7 days' INTO last FROM cohorts_before;
    EXECUTE format('ALTER TABLE cohorts ATTACH PARTITION cohorts_before FOR VALUES FROM (MINVALUE) TO (%L)', last);
END $$;

-- Every partition but the default one, with the time at which it ends.
CREATE VIEW partitions AS
    SELECT parent.relname::text AS parent, child.relname::text AS partition,
        substring(pg_get_expr(child.relpartbound, child.oid) FROM $$TO \('([^']+)'\)$$)::timestamptz AS ends
    FROM pg_inherits JOIN pg_class parent ON parent.oid = inhparent JOIN pg_class child ON child.oid = inhrelid
    WHERE parent.oid IN ('epochs'::regclass, 'cohorts'::regclass)
        AND pg_get_expr(child.relpartbound, child.oid) <> 'DEFAULT';

-- Add the partition of one week unless its time is covered; rows of that week leave the default partition.
CREATE FUNCTION add_partition(parent text, time_column text, week timestamptz) RETURNS integer
    LANGUAGE plpgsql AS $$
DECLARE
    name text := parent || '_' || to_char(week AT TIME ZONE 'UTC', 'YYYYMMDD');
    until timestamptz := week + interval '7 days';
BEGIN
    IF EXISTS (SELECT FROM partitions p WHERE p.parent = add_partition.parent AND ends >= until
        AND (p.partition = name OR p.partition = p.parent || '_before')) THEN
        RETURN 0;
    END IF;
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', parent || '_default');
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', name, parent);
    EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= %L AND %I < %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
        parent || '_default', time_column, week, time_column, until, name);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, week, until);
    RETURN 1;
END $$;

-- Drop partitions that ended before the retention; delete old rows of the two partitions that span more than a week.
CREATE FUNCTION drop_partitions(parent text, time_column text, before timestamptz) RETURNS bigint
    LANGUAGE plpgsql AS $$
DECLARE
    old text;
    spanning text;
    one bigint;
    removed bigint := 0;
BEGIN
    FOR old IN SELECT partition FROM partitions p WHERE p.parent = drop_partitions.parent AND ends <= before LOOP
        EXECUTE format('SELECT count(*) FROM %I', old) INTO one;
        EXECUTE format('DROP TABLE %I', old);
        removed := removed + one;
    END LOOP;
    FOREACH spanning IN ARRAY ARRAY[parent || '_before', parent || '_default'] LOOP
        IF to_regclass(quote_ident(spanning)) IS NOT NULL THEN
            EXECUTE format('DELETE FROM %I WHERE %I < %L', spanning, time_column, before);
            GET DIAGNOSTICS one = ROW_COUNT;
            removed := removed + one;
        END IF;
    END LOOP;
    RETURN removed;
END $$;

-- What the judge calls: partitions for this week and the next four, and the retention. It runs with the owner's rights,
-- and keeps at least a day of everything. A lock that is not free within two seconds is left to the next call.
CREATE FUNCTION maintain_partitions(keep_epochs interval, keep_cohorts interval) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET lock_timeout = '2s' SET search_path FROM CURRENT AS $$
DECLARE
    removed bigint;
BEGIN
    FOR ahead IN 0..4 LOOP
        PERFORM add_partition('epochs', 'stored', week_of(now()) + ahead * interval '7 days');
        PERFORM add_partition('cohorts', 'hour', week_of(now()) + ahead * interval '7 days');
    END LOOP;
    removed := drop_partitions('epochs', 'stored', now() - greatest(keep_epochs, interval '1 day'));
    RETURN removed + drop_partitions('cohorts', 'hour', now() - greatest(keep_cohorts, interval '1 day'));
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
END $$;
REVOKE ALL ON FUNCTION add_partition, drop_partitions, maintain_partitions FROM PUBLIC;
SELECT maintain_partitions(interval '100 years', interval '100 years');
