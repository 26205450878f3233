INSERT INTO document (block_id, version, recorded_at, tenant_id, conversation_id, terms)
SELECT block_id, version, recorded_at, tenant_id, conversation_id, ($8::integer[])[first_term : last_term]
FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::text[], $5::text[], $6::integer[], $7::integer[])
    AS given (block_id, version, recorded_at, tenant_id, conversation_id, first_term, last_term)
