SELECT DISTINCT ON (expired.conversation_id)
       expired.agent_id, expired.conversation_id, expired.namespace, expired.key, conversation.version
FROM (
    SELECT agent_id, conversation_id, namespace, key
    FROM document
    WHERE tenant_id = $1 AND expires_at <= $2
    ORDER BY expires_at
    LIMIT $3
) AS expired
JOIN conversation ON conversation.tenant_id = $1 AND conversation.conversation_id = expired.conversation_id
ORDER BY expired.conversation_id, expired.namespace, expired.key
