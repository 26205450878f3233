SELECT conversation.version AS conversation_version, document.version, document.created_at, document.updated_at, document.expires_at,
       document.value_json
FROM conversation
LEFT JOIN document ON document.tenant_id = $1 AND document.conversation_id = $2
                  AND document.namespace = $3 AND document.key = $4
WHERE conversation.tenant_id = $1 AND conversation.conversation_id = $2
