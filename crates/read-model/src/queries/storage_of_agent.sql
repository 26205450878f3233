SELECT greatest(coalesce(sum(conversations), 0)::bigint - (
    SELECT count(*)
    FROM (
        SELECT FROM conversation
        WHERE tenant_id = $1 AND agent_id = $2
          AND version = 1 AND session_id IS NOT NULL AND forked_from IS NULL AND status = 1
        LIMIT $3
    ) AS empty
), 0) AS conversations, coalesce(sum(stored_bytes), 0)::bigint AS bytes
FROM storage
WHERE tenant_id = $1 AND agent_id = $2
