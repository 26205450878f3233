SELECT count(*)
FROM (
    SELECT 1 FROM conversation
    WHERE tenant_id = $1 AND status IN (1, 2) AND partition >= 0
    LIMIT $2
) AS counted
