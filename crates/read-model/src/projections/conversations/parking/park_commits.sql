INSERT INTO parked_commit (sequence, tenant_id, conversation_id)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[])
