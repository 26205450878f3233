SELECT {columns}
FROM document
WHERE (tenant_id, conversation_id, namespace, key) > ($1, $2, $5, $6) AND (tenant_id, conversation_id) <= ($3, $4)
ORDER BY tenant_id, conversation_id, namespace, key
LIMIT $7
