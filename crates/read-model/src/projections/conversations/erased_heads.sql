SELECT partition, head
FROM conversation
WHERE partition >= 0 AND status = 3
LIMIT $1
