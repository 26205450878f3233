INSERT INTO document (block_id, version, recorded_at, tenant_id, conversation_id, terms)
SELECT block_id, version, recorded_at, tenant_id, conversation_id, ($8::integer[])[first_term : last_term]
FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::text[], $5::text[], $6::integer[], $7::integer[])
    AS given (block_id, version, recorded_at, tenant_id, conversation_id, first_term, last_term)
-- A document stays in its block.
ON CONFLICT (conversation_id, tenant_id, version) DO UPDATE
SET recorded_at = excluded.recorded_at, terms = excluded.terms
WHERE (document.recorded_at, document.terms) IS DISTINCT FROM (excluded.recorded_at, excluded.terms)
