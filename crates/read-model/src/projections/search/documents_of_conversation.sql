SELECT document.version, document.recorded_at, document.terms,
       coalesce(block.first_at, 'infinity') AS first_at, coalesce(block.last_at, '-infinity') AS last_at, block.filter
FROM document
LEFT JOIN block USING (block_id)
WHERE document.tenant_id = $1 AND document.conversation_id = $2
  AND (version > $3 AND version <= $4 OR version = 0 AND $5::boolean)
