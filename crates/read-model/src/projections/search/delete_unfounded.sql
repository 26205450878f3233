DELETE FROM document
WHERE tenant_id = $1 AND conversation_id = $2 AND version = ANY ($3::bigint[])
