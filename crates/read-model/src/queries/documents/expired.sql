-- Documents of conversations that accept no deletion have no version here: they count for the page, so its cost is bounded.
SELECT expired.expires_at, expired.conversation_id, expired.agent_id, expired.namespace, expired.key,
       accepting.version, accepting.last_event_at
FROM (
    SELECT expires_at, conversation_id, agent_id, namespace, key
    FROM document
    WHERE tenant_id = $1 AND expires_at <= $2 AND (expires_at, conversation_id) > ($3, $4)
    ORDER BY expires_at, conversation_id
    LIMIT $5
) AS expired
LEFT JOIN LATERAL (
    SELECT version, last_event_at
    FROM conversation
    WHERE tenant_id = $1 AND conversation_id = expired.conversation_id
      -- Active, or an agent's or owner's document.
      AND status IN (1, 4)
    -- No plan reads all conversations of the tenant.
    LIMIT 1
) AS accepting ON true
ORDER BY expired.expires_at, expired.conversation_id, expired.namespace, expired.key
