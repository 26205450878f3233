SELECT page.*
FROM unnest($4::smallint[]) AS wanted (status)
CROSS JOIN LATERAL (
    SELECT sequence, created_at, created_nanos, head, NULL::uuid AS commit_id,
           conversation_id, partition, title, metadata_json, client_context, last_event_at
    FROM conversation
    WHERE tenant_id = $1 AND agent_id = $2 AND {owner_id} = $3
      AND conversation.status = wanted.status
      AND (last_event_at, conversation_id) < ($5, $6)
      AND last_event_at >= $8
    ORDER BY last_event_at DESC, conversation_id DESC
    LIMIT $7
) AS page
ORDER BY page.last_event_at DESC, page.conversation_id DESC
LIMIT $7
