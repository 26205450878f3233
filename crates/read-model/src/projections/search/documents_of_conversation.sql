SELECT version, recorded_at, terms
FROM document
WHERE tenant_id = $1 AND conversation_id = $2
  AND (version > $3 AND version <= $4 OR version = 0 AND $5::boolean)
