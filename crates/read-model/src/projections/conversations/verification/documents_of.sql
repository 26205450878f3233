SELECT conversation.version, document.key IS NOT NULL, {columns}
FROM conversation
LEFT JOIN document USING (tenant_id, conversation_id)
WHERE conversation.tenant_id = $1 AND conversation.conversation_id = $2
ORDER BY document.namespace, document.key
