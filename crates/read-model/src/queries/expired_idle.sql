SELECT page.conversation_id, page.last_event_at, page.head
FROM unnest($3::smallint[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT conversation_id, last_event_at, head
    FROM conversation
    WHERE tenant_id = $1 AND agent_id = $2
      AND conversation.status = wanted.status
      AND partition > -1
      AND (last_event_at, conversation_id) > ($4, $5)
      AND last_event_at < $6
    ORDER BY last_event_at, conversation_id
    LIMIT $7
) AS page
ORDER BY page.last_event_at, page.conversation_id
LIMIT $7
