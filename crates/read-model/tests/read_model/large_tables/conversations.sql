-- The conversations $1 to $2 of `large_tables_rows.sql`, each with the head $3.
INSERT INTO conversation (
    version, sequence, created_at, last_event_at, partition, created_nanos, status, stored_bytes,
    tenant_id, conversation_id, agent_id, session_id, head
)
SELECT 20, number + 1, now(), now() + number * interval '10 ms', 0, 0, 1, 6000,
       't' || number % 20, 'c' || lpad(to_hex(number), 8, '0') || '-' || md5(number::text), 'a', 's' || number % 1000, $3::bytea
FROM generate_series($1::bigint, $2::bigint) AS number
