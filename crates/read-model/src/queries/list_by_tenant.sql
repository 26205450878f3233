SELECT page.*
FROM unnest($2::smallint[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT sequence, created_at, created_nanos, head, NULL::uuid AS commit_id,
           conversation_id, partition, title, metadata_json, client_context, last_event_at
    FROM conversation
    WHERE tenant_id = $1
      AND conversation.status = wanted.status
      AND partition >= 0
      AND agent_id <> 'hansard-audit-log'
      AND (last_event_at, conversation_id) < ($3, $4)
      AND last_event_at >= $6
    ORDER BY last_event_at DESC, conversation_id DESC
    LIMIT $5
) AS page
ORDER BY page.last_event_at DESC, page.conversation_id DESC
LIMIT $5
