-- One digest per conversation, of its row and the rows of its events and documents, for the keys after ($1, $2) and up to ($3, $4).
SELECT tenant_id, conversation_id,
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
FROM conversation
WHERE (tenant_id, conversation_id) > ($1, $2) AND (tenant_id, conversation_id) <= ($3, $4)
