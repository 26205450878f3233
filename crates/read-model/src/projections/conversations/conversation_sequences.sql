SELECT conversation.tenant_id, conversation.conversation_id, conversation.version, conversation.sequence
FROM unnest($1::text[], $2::text[]) AS wanted (tenant_id, conversation_id)
JOIN conversation USING (tenant_id, conversation_id)
