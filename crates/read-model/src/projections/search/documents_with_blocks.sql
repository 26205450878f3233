SELECT given.number - 1 AS row_index, document.recorded_at, document.terms,
       coalesce(block.first_at, 'infinity') AS first_at, coalesce(block.last_at, '-infinity') AS last_at, block.filter
FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS given (tenant_id, conversation_id, version, number)
JOIN document USING (conversation_id, tenant_id, version)
LEFT JOIN block USING (block_id)
