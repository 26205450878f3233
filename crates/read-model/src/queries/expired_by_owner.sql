WITH RECURSIVE owner AS (
    (
        SELECT {owner_id}, 1::bigint AS nth
        FROM conversation
        WHERE tenant_id = $1 AND agent_id = $2 AND {owner_id} > $4
        ORDER BY tenant_id, agent_id, {owner_id}
        LIMIT 1
    )
    UNION ALL
    SELECT next.{owner_id}, owner.nth + 1
    FROM owner
    CROSS JOIN LATERAL (
        SELECT conversation.{owner_id}
        FROM conversation
        WHERE tenant_id = $1 AND agent_id = $2 AND conversation.{owner_id} > owner.{owner_id}
        ORDER BY tenant_id, agent_id, conversation.{owner_id}
        LIMIT 1
    ) AS next
    WHERE owner.nth < $6
)
SELECT surplus.conversation_id, owner.{owner_id}, surplus.head
FROM owner
LEFT JOIN LATERAL (
    SELECT kept.conversation_id, kept.last_event_at, kept.head
    FROM unnest($3::smallint[]) AS wanted (status)
    CROSS JOIN LATERAL (
        SELECT conversation_id, last_event_at, head
        FROM conversation
        WHERE tenant_id = $1 AND agent_id = $2 AND {owner_id} = owner.{owner_id}
          AND conversation.status = wanted.status
        ORDER BY last_event_at DESC, conversation_id DESC
        LIMIT $5::bigint + $7::bigint
    ) AS kept
    ORDER BY kept.last_event_at DESC, kept.conversation_id DESC
    OFFSET $5
    LIMIT $7
) AS surplus ON true
ORDER BY owner.nth, surplus.last_event_at, surplus.conversation_id
