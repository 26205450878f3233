-- The events of the agent's conversations after an event, and a row without an event at the end of each conversation of the tenant: a
-- page always has a row unless it is behind the last conversation, and it reads a bounded number of conversations of other agents.
WITH scanned AS (
    SELECT conversation_id, agent_id = $2 AND status <> 3 AS is_indexed
    FROM conversation
    WHERE tenant_id = $1 AND (conversation_id > $3 OR conversation_id = $3 AND $4 < 9223372036854775807)
      AND conversation_id >= $3
    ORDER BY conversation_id
    LIMIT $5
)
SELECT event.version, event.recorded_at, event.recorded_nanos, event.body, event.commit_id, scanned.conversation_id
FROM scanned
CROSS JOIN LATERAL (
    (
        SELECT version, recorded_at, recorded_nanos, body, commit_id
        FROM event
        WHERE scanned.is_indexed AND tenant_id = $1 AND conversation_id = scanned.conversation_id
          AND version > CASE WHEN scanned.conversation_id = $3 THEN $4 ELSE 0 END
          -- Messages, calls, results, and what sets a title.
          AND kind IN (1, 2, 3, 6, 7)
        ORDER BY version
        LIMIT $6
    )
    UNION ALL
    SELECT NULL, NULL, NULL, NULL, NULL
) AS event
ORDER BY scanned.conversation_id, event.version NULLS LAST
LIMIT $6
