DELETE FROM document
USING unnest({arrays}) AS removed ({columns})
WHERE document.tenant_id = removed.tenant_id
  AND document.conversation_id = removed.conversation_id
  AND document.namespace = removed.namespace
  AND document.key = removed.key
  AND document.version < removed.version
