DELETE FROM document
USING unnest($1::text[], $2::text[], $3::bigint[]) AS given (tenant_id, conversation_id, version)
WHERE document.tenant_id = given.tenant_id
  AND document.conversation_id = given.conversation_id
  AND document.version = given.version
