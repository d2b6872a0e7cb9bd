# SPDX-License-Identifier: Apache-2.0
"""ClickHouse in this process (chdb): the fleet's tables, and the product's questions in its SQL.

`devices` is a ReplacingMergeTree whose version is (boot, sequence): reading it by FINAL gives the
newest row of each device. Inserts are flushed to the disk before they return, as PostgreSQL's are.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any, LiteralString

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from chdb.session import Session
from numpy.typing import NDArray
from psycopg import Connection

from tcuq.telemetry import MEANS, to_arrow
from tcuq_fleet.judge.ebh import Discovery
from tcuq_fleet.judge.evidence_counts import SILENT, YOUNG, EvidenceCounts
from tcuq_fleet.judge.judge import owners_of_sites

Array = NDArray[Any]
TYPES = {
    "bigint": "Int64", "integer": "Int32", "smallint": "Int16", "boolean": "Bool",
    "double precision": "Float64", "timestamp with time zone": "DateTime64(6, 'UTC')",
    "real": "Float32", "bytea": "Array(UInt16)",
}  # fmt: skip
VERSION = ", version UInt64 MATERIALIZED bitShiftLeft(toUInt64(boot), 32) + toUInt64(sequence)"
NESTED = (
    "arrayMap(i -> reinterpretAsUInt16(substring(unhex(substring({0}, 3)), 2 * i + 1, 2)),"
    " range(16))"
)
# A table's order is that of its primary key or index in PostgreSQL.
TABLES = {
    "devices": "device", "registry": "device", "changes": "device", "sites": "site",
    "judgements": "judgement", "suspects": "(judgement, evidence_q8)",
    "least_accurate": "expected_error", "firmware_accuracy": "firmware",
    "hours": "(hour, owner, profile, firmware)", "cohorts": "(hour, profile, firmware, site)",
}  # fmt: skip
COLUMNS_OF: LiteralString = """
SELECT attname, format_type(atttypid, NULL), NOT attnotnull FROM pg_attribute
WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_BYTES = "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = '{table}'"
_EXPORT = "COPY (SELECT * FROM {table}) TO STDOUT (FORMAT CSV, NULL '\\N')"
_IMPORT = """
INSERT INTO {table} ({names}) SELECT {chosen} FROM file('{file}', CSV, '{read}')
SETTINGS date_time_input_format = 'best_effort'
"""
DURABLE = " SETTINGS fsync_after_insert = 1, fsync_part_directory = 1"
ADDED = ("steps", "abstained", "denied", "exceeded", "alarms")

COUNT = """
SELECT profile, firmware, site,
    toInt32(if(isNull(judged_q8), {young}, greatest(assumeNotNull(judged_q8), 0))),
    toInt32(countIf(last_seen >= {since})),
    toInt32(countIf(last_seen < {since} AND last_seen >= {gone_since})),
    toInt32(countIf(last_seen < {gone_since}))
FROM devices FINAL
WHERE device NOT IN (SELECT device FROM registry WHERE state = 'retired')
GROUP BY profile, firmware, site, judged_q8
"""
_KEYS = ("profile", "firmware", "site", "evidence_q8")
_COUNTED = np.dtype([(name, "<i4") for name in (*_KEYS, "reporting", "silent", "gone")])
_ESTIMATED = """
FROM devices FINAL WHERE expected_error IS NOT NULL AND last_seen >= {since}
    AND device NOT IN (SELECT device FROM registry WHERE state = 'retired')
"""
LEAST_ACCURATE = (
    "SELECT device, profile, firmware, site, expected_error"
    + _ESTIMATED
    + "ORDER BY expected_error DESC, device LIMIT {limit}"
)
FIRMWARE_ACCURACY = (
    "SELECT firmware, 0, count(), sum(expected_error)" + _ESTIMATED + "GROUP BY firmware"
)
# The home page's queries, over the tables that the judge and the worker keep for it.
NEWEST = """
SELECT devices, silent, judgeable, discovered FROM judgements ORDER BY judgement DESC LIMIT 1
"""
SUSPECTS = """
SELECT device, profile, firmware, name, evidence_q8 / 256.0 FROM suspects JOIN sites USING (site)
WHERE judgement = {judgement} AND evidence_q8 >= {cutoff}
ORDER BY evidence_q8 DESC, device LIMIT {limit}
"""
RANKED = """
WITH least AS (
    SELECT * FROM least_accurate ORDER BY expected_error DESC, device LIMIT {limit})
SELECT device, 1 - expected_error / 16384.0, if(past_epochs > 0, 1 - past / 16384.0, NULL)
FROM least LEFT JOIN (
    SELECT device, profile, past_epochs, past_expected_error AS past FROM changes
    WHERE past_epochs > 0 AND device IN (SELECT device FROM least)) AS earlier
    ON least.device = earlier.device AND least.profile = earlier.profile
ORDER BY expected_error DESC, device
"""
HOURS = """
SELECT toUnixTimestamp(hour), sum(records), sum(steps), sum(abstained), sum(denied), sum(alarms)
FROM {table} WHERE hour > now() - INTERVAL {hours} HOUR GROUP BY hour ORDER BY hour
"""
OF_SITE = "cohorts JOIN (SELECT site FROM sites WHERE name = '{site}') AS named USING (site)"
DEVICE = "SELECT boot, sequence, evidence, judged_q8 FROM devices FINAL WHERE device = {device}"
ENGINES = {"devices": "ReplacingMergeTree(version)", "cohorts": "SummingMergeTree"}
# As a view of what is inserted: right only while each inserted row is newer than the stored one.
ROLLED = """
CREATE MATERIALIZED VIEW rolled TO cohorts AS
SELECT profile, firmware, site, toStartOfHour(last_seen) AS hour, count() AS records,
    sum(steps_added) AS steps, sum(abstained_added) AS abstained, sum(denied_added) AS denied,
    sum(exceeded_added) AS exceeded, sum(alarms_added) AS alarms
FROM devices GROUP BY profile, firmware, site, hour
"""
# `judged_q8` of the table in PostgreSQL.
_JUDGED = """
if(old.mixed, NULL, 128 * greatest(new.evidence, ifNull(old.closed_evidence, 0)) + [0, -59, -107,
    -145, -174, -196, -213, -225, -234, -241, -245, -248, -251, -252, -254, -254, -255, -255, -256][
    1 + least(abs(new.evidence - ifNull(old.closed_evidence, 0)), 18)])
"""
_FROM_RECORD = (
    "boot", "sequence", "steps", "abstained", "denied", "exceeded", "alarms", "epoch", "evidence",
    "cause", "change", "label", "histogram_shift", "histogram",
)  # fmt: skip
_FROM_ROW = (
    "profile", "firmware", "site", "closed_epoch", "closed_evidence", "mixed", "trust", *MEANS,
)  # fmt: skip
_INSERT = """
INSERT INTO devices ({names})
WITH new AS (
    SELECT * REPLACE (reinterpretAsInt64(device) AS device) FROM file('{file}')
), old AS (SELECT * FROM devices FINAL WHERE device IN (SELECT device FROM new))
SELECT {values} FROM old JOIN new ON old.device = new.device
WHERE (new.boot, new.sequence) > (old.boot, old.sequence) AND old.site = new.site
"""
# Every field of every record, as the example consumer writes them.
CREATE_RECORDS = """
CREATE TABLE kept ENGINE = MergeTree ORDER BY (device, boot, sequence)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1
EMPTY AS SELECT * EXCEPT version FROM file('{file}')
SETTINGS schema_inference_make_columns_nullable = 0
"""
INSERT_RECORDS = "INSERT INTO kept SELECT * EXCEPT version FROM file('{file}')"
RECORD_SUMS = """
SELECT reinterpretAsInt32(firmware), count(), sum(abstained), sum(denied), sum(evidence)
FROM kept GROUP BY firmware
"""


def insert_newer(file: Path) -> str:
    """Return the statement that reads the rows of a file's devices and inserts their next rows.

    It has the product's rule for a record within an epoch and under the same firmware. Nothing
    locks the rows between reading and inserting: it needs one writer per device.
    """
    added = "if(old.boot = new.boot, greatest(toInt64(new.{0}) - old.{0}, 0), new.{0})"
    values = {
        "device": "old.device", "last_seen": "now64(6)", "closing": "false", "judged_q8": _JUDGED,
        **{name: f"new.{name}" for name in _FROM_RECORD},
        **{name: f"old.{name}" for name in _FROM_ROW},
        **{f"{name}_added": added.format(name) for name in ADDED},
    }  # fmt: skip
    chosen = ", ".join(values.values())
    return _INSERT.format(names=", ".join(values), values=chosen, file=file)


def write_parquet(file: Path, records: Array, sites: Array) -> None:
    """Write records to a Parquet file, as the example consumer does."""
    table = pa.Table.from_batches([to_arrow(records)]).append_column("site", pa.array(sites))
    pq.write_table(table, file, compression="zstd")


class ClickHouse:
    """A database in a folder, in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._session = Session(str(folder))

    def close(self) -> None:
        """Close the database."""
        self._session.close()

    def run(self, statement: str, form: str = "CSV") -> bytes:
        """Run a statement and return its result in one of ClickHouse's formats."""
        return bytes(self._session.query(statement, form).bytes())

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return a query's rows."""
        return [
            tuple(json.loads(row)) for row in self.run(query, "JSONCompactEachRow").splitlines()
        ]

    def number(self, query: str) -> int:
        """Return the number that a query yields."""
        ((value,),) = self.rows(query)
        return int(value)

    def bytes_of(self, table: str) -> int:
        """Return the bytes of a table's active parts on the disk."""
        return self.number(_BYTES.format(table=table))

    def copy(self, connection: Connection[Any], table: str) -> None:
        """Create a table of PostgreSQL here, with its rows."""
        columns = connection.execute(COLUMNS_OF, [table]).fetchall()
        kinds = {name: TYPES.get(given, "String") for name, given, _ in columns}
        nullable = {name for name, _, maybe in columns if maybe}

        def declared(name: str, kind: str) -> str:
            return f"{name} Nullable({kind})" if name in nullable else f"{name} {kind}"

        stored = ", ".join(declared(name, kind) for name, kind in kinds.items())
        engine = ENGINES.get(table, "MergeTree")
        self.run(
            f"CREATE TABLE {table} ({stored}{VERSION if table == 'devices' else ''})"
            f" ENGINE = {engine} ORDER BY {TABLES[table]}{DURABLE}"
        )
        file = self.folder.parent / f"{table}.csv"
        with (
            file.open("wb") as out,
            connection.cursor() as cursor,
            cursor.copy(_EXPORT.format(table=table).encode()) as copy,
        ):
            for data in copy:
                out.write(data)
        text = {n: "String" if kind.startswith("Array") else kind for n, kind in kinds.items()}
        read = ", ".join(declared(name, kind) for name, kind in text.items()).replace("'", "\\'")
        chosen = ", ".join(
            NESTED.format(name) if kind.startswith("Array") else name
            for name, kind in kinds.items()
        )
        if file.stat().st_size:
            names = ", ".join(kinds)
            values = {"table": table, "names": names, "chosen": chosen, "file": file, "read": read}
            self.run(_IMPORT.format(**values))
        file.unlink()
        self.run(f"OPTIMIZE TABLE {table} FINAL")

    def discovery(
        self, connection: Connection[Any], since: datetime, gone_since: datetime, level: float
    ) -> Discovery:
        """Apply e-BH to the devices, by the judge's own counting."""
        values = {"young": YOUNG, "since": moment(since), "gone_since": moment(gone_since)}
        rows = np.frombuffer(self.run(COUNT.format(**values), "RowBinary"), _COUNTED)
        keys = np.stack([rows[name].astype(np.int64) for name in _KEYS], axis=1)
        reporting = np.column_stack([keys, rows["reporting"]])
        silent = np.column_stack([keys, rows["silent"]])
        silent[:, 3] = SILENT
        present = np.concatenate([reporting[reporting[:, 4] > 0], silent[silent[:, 4] > 0]])
        return EvidenceCounts(present, owners_of_sites(connection)).discovery(level)


def moment(when: datetime) -> str:
    """Return a time as an SQL expression."""
    return f"fromUnixTimestamp64Micro({round(when.timestamp() * 1_000_000)}, 'UTC')"
