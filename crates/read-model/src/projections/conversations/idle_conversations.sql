SELECT conversation.tenant_id, conversation.conversation_id, conversation.partition, conversation.sequence
FROM unnest($1::text[], $2::text[]) AS wanted (tenant_id, conversation_id)
JOIN conversation USING (tenant_id, conversation_id)
LEFT JOIN parked_conversation USING (tenant_id, conversation_id)
WHERE conversation.last_event_at < $3
  AND ($4 OR conversation.status <> 3)
  AND parked_conversation.sequence IS NULL
ORDER BY conversation.tenant_id, conversation.conversation_id
