DELETE FROM document
USING unnest($1::text[], $2::text[]) AS cleared (tenant_id, conversation_id)
WHERE document.tenant_id = cleared.tenant_id
  AND document.conversation_id = cleared.conversation_id
  AND document.version = 0
