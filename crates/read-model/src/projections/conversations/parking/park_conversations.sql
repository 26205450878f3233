INSERT INTO parked_conversation (
    sequence, parked_at, partition, attempts, gaps_accepted, tenant_id, conversation_id, reason
)
SELECT sequence, now(), partition, 1, false, tenant_id, conversation_id, reason
FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::text[], $5::text[])
    AS parked (sequence, partition, tenant_id, conversation_id, reason)
