DELETE FROM event
USING unnest($1::text[], $2::text[]) AS erased (tenant_id, conversation_id)
WHERE event.tenant_id = erased.tenant_id AND event.conversation_id = erased.conversation_id
