-- SPDX-License-Identifier: Apache-2.0
-- The roles, run once by a superuser: the owner migrates, each process has its own role with its own rights.

DO $$
DECLARE
    role text;
    object record;
BEGIN
    FOREACH role IN ARRAY ARRAY['tcuq_owner', 'tcuq_ingest', 'tcuq_judge', 'tcuq_serve'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I LOGIN', role);
        END IF;
        EXECUTE format('REVOKE ALL ON DATABASE %I FROM %I', current_database(), role);
        EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), role);
    END LOOP;
    -- Workers copy their batches to a temporary table; nobody else needs one.
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO tcuq_ingest', current_database());
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    REVOKE CREATE ON SCHEMA public FROM PUBLIC;
    EXECUTE format('ALTER DATABASE %I OWNER TO tcuq_owner', current_database());
    -- Tables of an earlier version belong to whoever created them; sequences of identity columns follow their table.
    FOR object IN SELECT oid::regclass AS name FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v') LOOP
        EXECUTE format('ALTER TABLE %s OWNER TO tcuq_owner', object.name);
    END LOOP;
    FOR object IN SELECT oid::regtype AS name FROM pg_type
        WHERE typnamespace = current_schema()::regnamespace AND typtype = 'e' LOOP
        EXECUTE format('ALTER TYPE %s OWNER TO tcuq_owner', object.name);
    END LOOP;
    FOR object IN SELECT oid::regprocedure AS name FROM pg_proc WHERE pronamespace = current_schema()::regnamespace LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO tcuq_owner', object.name);
    END LOOP;
END $$;
