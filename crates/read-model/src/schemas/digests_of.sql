-- Like `digests.sql`, for the given conversations.
SELECT conversation.tenant_id, conversation.conversation_id,
       sha256(convert_to(conversation::text, 'UTF8') || coalesce((
           SELECT string_agg(sha256(convert_to(event::text, 'UTF8')), ''::bytea ORDER BY event.version)
           FROM event
           WHERE event.tenant_id = conversation.tenant_id
             AND event.conversation_id = conversation.conversation_id
       ), ''::bytea) || coalesce((
           SELECT string_agg(sha256(convert_to(document::text, 'UTF8')), ''::bytea ORDER BY document.namespace, document.key)
           FROM document
           WHERE document.tenant_id = conversation.tenant_id
             AND document.conversation_id = conversation.conversation_id
       ), ''::bytea)) AS digest
FROM unnest($1::text[], $2::text[]) AS wanted (tenant_id, conversation_id)
JOIN conversation USING (tenant_id, conversation_id)
