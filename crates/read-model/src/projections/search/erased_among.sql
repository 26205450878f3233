SELECT given.number - 1
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS given (tenant_id, conversation_id, number)
JOIN conversation USING (tenant_id, conversation_id)
WHERE conversation.status = 3
