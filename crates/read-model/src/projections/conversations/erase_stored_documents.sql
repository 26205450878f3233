DELETE FROM document
USING unnest($1::text[], $2::text[]) AS erased (tenant_id, conversation_id)
WHERE document.tenant_id = erased.tenant_id AND document.conversation_id = erased.conversation_id
