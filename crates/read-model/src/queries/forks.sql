WITH RECURSIVE fork AS (
    SELECT conversation_id, user_id, session_id, channel_id, 1 AS depth, forked_from
    FROM conversation
    WHERE tenant_id = $1 AND forked_from = $2
    UNION ALL
    SELECT child.conversation_id, child.user_id, child.session_id, child.channel_id, fork.depth + 1, child.forked_from
    FROM fork
    CROSS JOIN LATERAL (
        SELECT conversation_id, user_id, session_id, channel_id, forked_from
        FROM conversation
        WHERE tenant_id = $1 AND forked_from = fork.conversation_id
    ) AS child
    WHERE fork.depth < $3
)
SELECT conversation_id, user_id, session_id, channel_id, depth, forked_from
FROM fork
LIMIT $4
