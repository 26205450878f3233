SELECT
    control.system_identifier AS cluster,
    (SELECT oid FROM pg_database WHERE datname = current_database())::bigint AS database,
    CASE WHEN pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint END AS position
FROM pg_control_system() AS control
