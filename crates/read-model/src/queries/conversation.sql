SELECT sequence, created_at, created_nanos, head, NULL::uuid AS commit_id,
       conversation_id, partition, title, metadata_json, client_context
FROM conversation
WHERE tenant_id = $1 AND conversation_id = $2
