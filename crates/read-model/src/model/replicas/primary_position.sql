SELECT
    control.system_identifier AS cluster,
    (SELECT oid FROM pg_database WHERE datname = current_database())::bigint AS database,
    pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint AS position
FROM pg_control_system() AS control
