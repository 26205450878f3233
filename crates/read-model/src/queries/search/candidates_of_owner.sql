WITH owned AS MATERIALIZED (
    SELECT conversation.conversation_id
    FROM unnest($9::text[]) AS wanted (agent_id)
    CROSS JOIN unnest($10::smallint[]) AS wanted_status (status)
    CROSS JOIN LATERAL (
        SELECT conversation_id, last_event_at
        FROM conversation
        WHERE tenant_id = $1 AND conversation.agent_id = wanted.agent_id AND {owner_id} = $11
          AND conversation.status = wanted_status.status
        ORDER BY last_event_at DESC, conversation_id DESC
        LIMIT 1000
    ) AS conversation
    ORDER BY conversation.last_event_at DESC, conversation.conversation_id DESC
    LIMIT 1000
), candidates AS MATERIALIZED (
    SELECT document.recorded_at, document.conversation_id, document.version
    FROM owned
    CROSS JOIN LATERAL (
        SELECT recorded_at, conversation_id, version
        FROM search_v1.document
        WHERE tenant_id = $1 AND document.conversation_id = owned.conversation_id {all} {any}
          AND NOT terms && $3::integer[]
          AND recorded_at >= $4
          AND (recorded_at, conversation_id, version) < ($5, $6, $7)
        OFFSET 0
    ) AS document
    LIMIT {candidates_read}
)
