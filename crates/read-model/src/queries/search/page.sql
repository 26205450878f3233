SELECT candidate.recorded_at, candidate.conversation_id, candidate.version, conversation.agent_id, conversation.status,
           conversation.user_id, conversation.title, event.body
    FROM {candidates} AS candidate
    CROSS JOIN LATERAL (
        SELECT agent_id, status, user_id, session_id, channel_id, title
        FROM conversation
        WHERE tenant_id = $1 AND conversation.conversation_id = candidate.conversation_id
        OFFSET 0
    ) AS conversation
    LEFT JOIN LATERAL (
        SELECT body
        FROM event
        WHERE tenant_id = $1 AND event.conversation_id = candidate.conversation_id AND event.version = candidate.version
        OFFSET 0
    ) AS event ON true
    WHERE conversation.status = ANY ($10::smallint[])
      AND conversation.agent_id = ANY ($9::text[])
      AND {owner}
      AND CASE WHEN candidate.version = 0 THEN conversation.title IS NOT NULL ELSE event.body IS NOT NULL END
    ORDER BY candidate.recorded_at DESC, candidate.conversation_id DESC, candidate.version DESC
    LIMIT $8
