DELETE FROM hansard.provider_log AS log
USING unnest($1::text[], $2::text[]) AS erased (tenant_id, conversation_id)
WHERE log.tenant_id = erased.tenant_id AND log.conversation_id = erased.conversation_id
