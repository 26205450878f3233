SELECT version, recorded_at, recorded_nanos, body, commit_id
FROM event
WHERE tenant_id = $1 AND conversation_id = $2 AND version > $3
  -- Messages, calls, results, and what sets a title.
  AND kind IN (1, 2, 3, 6, 7)
ORDER BY version
LIMIT $4
