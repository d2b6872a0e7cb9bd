-- SPDX-License-Identifier: Apache-2.0
-- What each process may do; run by the owner after every migration, if the roles exist.

REVOKE ALL ON ALL TABLES IN SCHEMA public FROM tcuq_ingest, tcuq_judge, tcuq_serve;

GRANT SELECT ON ALL TABLES IN SCHEMA public TO tcuq_judge, tcuq_serve;
REVOKE SELECT ON gateways, gateway_sites FROM tcuq_judge, tcuq_serve;

GRANT SELECT ON schema_version, place, owners, sites, registry, gateways, gateway_sites TO tcuq_ingest;
GRANT SELECT, INSERT, UPDATE ON devices, cohorts, hours, quarantine TO tcuq_ingest;
GRANT SELECT, INSERT ON epochs, dead_letters TO tcuq_ingest;
GRANT INSERT ON sites TO tcuq_ingest;
GRANT DELETE ON quarantine TO tcuq_ingest;

GRANT INSERT, UPDATE, DELETE ON judgements, evidence, groups, site_counts, owner_counts, profile_counts, suspects, least_accurate,
    firmware_accuracy, accuracy_hours, alarms, deliveries,
    site_days, changes, changes_stage, change_reference, change_counts, changed TO tcuq_judge;
GRANT DELETE ON dead_letters, cohorts, hours TO tcuq_judge;
GRANT EXECUTE ON FUNCTION maintain_partitions TO tcuq_judge;

GRANT INSERT (device, state, muted_until, boot_released, note, changed_by),
    UPDATE (state, muted_until, boot_released, note, changed, changed_by) ON registry TO tcuq_serve;
GRANT DELETE ON quarantine TO tcuq_serve;
GRANT UPDATE (acknowledged, acknowledged_by) ON alarms TO tcuq_serve;
