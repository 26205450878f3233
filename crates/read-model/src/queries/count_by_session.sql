SELECT count(*)
FROM (
    SELECT 1 FROM conversation
    WHERE tenant_id = $1 AND agent_id = $3 AND session_id = $4 AND status IN (1, 2)
    LIMIT $2
) AS counted
