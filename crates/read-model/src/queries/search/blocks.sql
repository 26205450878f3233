SELECT block_id, last_at
FROM search_v1.block
WHERE tenant_id = $1
  AND last_at >= $2 AND first_at <= $3
  AND (last_at, block_id) < ($4, $5)
  {filters}
ORDER BY last_at DESC, block_id DESC
LIMIT $6
