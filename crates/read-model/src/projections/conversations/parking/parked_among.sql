SELECT DISTINCT parked_conversation.tenant_id, parked_conversation.conversation_id
FROM unnest($1::text[], $2::text[]) AS wanted (tenant_id, conversation_id)
JOIN parked_conversation USING (tenant_id, conversation_id)
