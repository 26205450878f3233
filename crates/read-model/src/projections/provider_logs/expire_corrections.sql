DELETE FROM hansard.usage_correction
WHERE ctid = ANY(ARRAY(SELECT ctid FROM hansard.usage_correction WHERE day < $1 LIMIT $2))
RETURNING 1
