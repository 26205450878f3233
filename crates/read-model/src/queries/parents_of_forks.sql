SELECT wanted.conversation_id
FROM unnest($2::text[]) AS wanted (conversation_id)
CROSS JOIN LATERAL (
    SELECT forked_from
    FROM conversation
    WHERE tenant_id = $1 AND conversation.forked_from = wanted.conversation_id
    LIMIT 1
) AS fork
