INSERT INTO conversation (
    version, sequence, created_at, last_event_at, partition, created_nanos, status,
    tenant_id, conversation_id, agent_id, head, user_id, session_id, channel_id, active_run_id, title,
    metadata_json, client_context, forked_from, stored_bytes
)
SELECT * FROM unnest(
    $1::bigint[], $2::bigint[], $3::timestamptz[], $4::timestamptz[], $5::integer[], $6::smallint[], $7::smallint[],
    $8::text[], $9::text[], $10::text[], $11::bytea[], $12::text[], $13::text[], $14::text[], $15::uuid[], $16::text[],
    $17::text[], $18::bytea[], $19::text[], $20::bigint[]
)
