SELECT count(*) FILTER (
    WHERE status <> 4
      AND NOT (version = 1 AND session_id IS NOT NULL AND forked_from IS NULL AND status = 1)
) AS conversations, coalesce(sum(stored_bytes), 0)::bigint AS bytes
FROM (
    SELECT stored_bytes, status, version, session_id, forked_from FROM conversation
    WHERE tenant_id = $1 AND agent_id = $2 AND {owner_id} = $3 AND status IN (1, 2, 4)
    LIMIT $4
) AS counted
