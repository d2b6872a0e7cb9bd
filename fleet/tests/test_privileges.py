# SPDX-License-Identifier: Apache-2.0
"""Privileges: as each role, every statement on every object; what is not listed is refused."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import psycopg
import pytest
from psycopg import Connection, errors

from fleet.tests.fixtures.servers import as_role

# What each role may do to which tables; every other statement is refused. A partition is written
# "table/" and has rights of its own: workers write through the table alone.
READ = {"SELECT"}
WRITE = {"SELECT", "INSERT", "UPDATE", "DELETE"}


def each(names: str, allowed: set[str]) -> dict[str, set[str]]:
    """Return the same privileges for each of these tables."""
    return dict.fromkeys(names.split(), allowed)


INGEST = {
    **each("schema_version place owners registry gateways gateway_sites", READ),
    **each("devices cohorts hours", {"SELECT", "INSERT", "UPDATE"}),
    **each("epochs dead_letters sites", {"SELECT", "INSERT"}),
    "quarantine": WRITE,
}
NO_TOKENS = each("gateways gateway_sites", set())
JUDGE = {
    **NO_TOKENS,
    **each("judgements evidence groups site_counts owner_counts profile_counts suspects", WRITE),
    **each("least_accurate firmware_accuracy accuracy_hours", WRITE),
    **each("alarms deliveries site_days", WRITE),
    **each("changes changes_stage change_reference change_counts changed", WRITE),
    **each("dead_letters cohorts hours", {"SELECT", "DELETE"}),
}
DECIDED = ("state", "muted_until", "boot_released", "note", "changed_by")
SERVE = {
    "registry": {
        "SELECT",
        *(f"INSERT {name}" for name in ("device", *DECIDED)),
        *(f"UPDATE {name}" for name in ("changed", *DECIDED)),
    },
    **NO_TOKENS,
    "quarantine": {"SELECT", "DELETE"},
    "alarms": {"SELECT", "UPDATE acknowledged", "UPDATE acknowledged_by"},
}
TABLES = {"tcuq_ingest": INGEST, "tcuq_judge": JUDGE, "tcuq_serve": SERVE}
READS_ALL = ("tcuq_judge", "tcuq_serve")
FUNCTIONS = {
    "tcuq_ingest": {"week_of"},
    "tcuq_judge": {"week_of", "maintain_partitions"},
    "tcuq_serve": {"week_of"},
}
REST = {  # other statements, and the roles that may execute them
    "CREATE TEMPORARY TABLE mine ()": {"tcuq_ingest"},
    "CREATE TABLE mine ()": set(),
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'": set(),
    "CREATE SCHEMA mine": set(),
    "CREATE EXTENSION dblink": set(),
    "CREATE ROLE mine": set(),
    "SET ROLE tcuq_owner": set(),
    "SET SESSION AUTHORIZATION tcuq_owner": set(),
    "ALTER TABLE sites OWNER TO CURRENT_USER": set(),
    "ALTER TABLE sites DISABLE TRIGGER ALL": set(),
    "DROP TABLE sites": set(),
    "COPY schema_version FROM PROGRAM 'true'": set(),
    "COPY schema_version FROM '/etc/passwd'": set(),
    "SELECT pg_read_file('/etc/passwd')": set(),
    "SELECT lo_import('/etc/passwd')": set(),
    "ALTER DATABASE roles SET search_path = mine": set(),
    "SELECT * FROM pg_authid": set(),
}


def is_allowed(connection: Connection[Any], statement: str) -> bool:
    """Return whether a statement is not refused; whatever it did is rolled back."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(statement.encode())
    except (errors.InsufficientPrivilege, errors.ObjectNotInPrerequisiteState):
        return False
    except errors.WrongObjectType:  # a view, which nobody can change
        return False
    except psycopg.Error:  # allowed, and wrong for another reason
        return True
    return True


def statements(table: str, columns: Iterable[str]) -> dict[str, str]:
    """Return a statement per privilege; each changes no row or is refused by a constraint."""
    return {
        "SELECT": f"SELECT 1 FROM {table} LIMIT 0",  # noqa: S608
        "DELETE": f"DELETE FROM {table}",  # noqa: S608
        "TRUNCATE": f"TRUNCATE {table} CASCADE",
        "TRIGGER": f"CREATE TRIGGER mine AFTER INSERT ON {table} EXECUTE FUNCTION mine()",
        **{f"INSERT {name}": f"INSERT INTO {table} ({name}) VALUES (DEFAULT)" for name in columns},  # noqa: S608
        **{f"UPDATE {name}": f"UPDATE {table} SET {name} = DEFAULT" for name in columns},  # noqa: S608
    }


def privileges(connection: Connection[Any], table: str, columns: list[str]) -> set[str]:
    """Return what the connection's role may do to a table; `UPDATE` alone: to every column."""
    allowed = {
        name for name, text in statements(table, columns).items() if is_allowed(connection, text)
    }
    for kind in ("INSERT", "UPDATE"):
        each_column = {f"{kind} {name}" for name in columns}
        if each_column <= allowed:
            allowed = (allowed - each_column) | {kind}
    return allowed


@pytest.fixture
def columns_of(with_roles: str) -> dict[str, list[str]]:
    """Return the columns of every table and view."""
    columns = defaultdict(list)
    with psycopg.connect(with_roles) as connection:
        for table, column in connection.execute(
            "SELECT attrelid::regclass::text, quote_ident(attname) FROM pg_attribute"
            " JOIN pg_class ON oid = attrelid WHERE relnamespace = 'public'::regnamespace"
            " AND relkind IN ('r', 'p', 'v', 'm', 'f') AND attnum > 0 AND NOT attisdropped"
            " AND attgenerated = '' AND attidentity = ''"
        ):
            columns[table].append(column)
    return columns


@pytest.mark.parametrize("role", TABLES)
def test_a_role_may_do_to_tables_what_is_listed(
    with_roles: str, columns_of: dict[str, list[str]], role: str
) -> None:
    """Every kind of statement on every table, partition and view, and every column's update."""
    default = READ if role in READS_ALL else set()
    with psycopg.connect(as_role(with_roles, role), autocommit=True) as connection:
        granted = {
            table: privileges(connection, table, names) for table, names in columns_of.items()
        }
    for table, allowed in granted.items():
        if re.fullmatch(r"(epochs|cohorts)_(before|default|\d{8})", table):
            assert allowed <= default, table
        else:
            assert allowed == TABLES[role].get(table, default), table


@pytest.mark.parametrize("role", TABLES)
def test_a_role_may_execute_what_is_listed(with_roles: str, role: str) -> None:
    """Every function of the schema, and statements on the server, the schema and other roles."""
    with psycopg.connect(as_role(with_roles, role), autocommit=True) as connection:
        names = connection.execute(
            "SELECT oid::regproc::text, has_function_privilege(oid, 'EXECUTE') FROM pg_proc"
            " WHERE pronamespace = 'public'::regnamespace"
        ).fetchall()
        assert {name for name, allowed in names if allowed} == FUNCTIONS[role]
        for statement, roles in REST.items():
            assert is_allowed(connection, statement) == (role in roles), statement


def test_functions_with_their_owners_rights_fix_the_search_path(with_roles: str) -> None:
    """Each of them finds the schema's tables first, and the caller's temporary ones last."""
    with psycopg.connect(with_roles) as connection:
        settings = connection.execute(
            "SELECT proconfig FROM pg_proc"
            " WHERE prosecdef AND pronamespace = 'public'::regnamespace"
        ).fetchall()
    assert settings
    for (setting,) in settings:
        assert "search_path=public, pg_temp" in setting


def test_a_temporary_table_gives_no_rights_of_the_owner(with_roles: str) -> None:
    """A caller's tables and triggers are not used by a function that runs with other rights.

    The judge's role became the owner this way, when it could still create temporary tables.
    """
    with psycopg.connect(with_roles, autocommit=True) as connection:
        connection.execute("GRANT TEMPORARY ON DATABASE roles TO tcuq_judge")
    with psycopg.connect(as_role(with_roles, "tcuq_judge"), autocommit=True) as connection:
        connection.execute("CREATE TEMPORARY TABLE epochs_default (stored timestamptz)")
        connection.execute(
            "CREATE FUNCTION pg_temp.takes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            " GRANT UPDATE ON registry TO tcuq_judge; RETURN NULL; END $$"
        )
        connection.execute(
            "CREATE TRIGGER takes BEFORE DELETE ON epochs_default"
            " FOR EACH STATEMENT EXECUTE FUNCTION pg_temp.takes()"
        )
        connection.execute("GRANT ALL ON epochs_default TO PUBLIC")
        connection.execute("SELECT maintain_partitions('1 day', '1 day')")
        assert not is_allowed(connection, "UPDATE registry SET name = ''")
    with psycopg.connect(with_roles, autocommit=True) as connection:
        connection.execute("REVOKE TEMPORARY ON DATABASE roles FROM tcuq_judge")
