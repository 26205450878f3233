SELECT
    control.system_identifier,
    (SELECT oid FROM pg_database WHERE datname = current_database())::bigint,
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint
FROM pg_control_system() AS control
