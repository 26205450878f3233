-- A document stays in its block.
ON CONFLICT (conversation_id, tenant_id, version) DO UPDATE
SET recorded_at = excluded.recorded_at, terms = excluded.terms
WHERE (document.recorded_at, document.terms) IS DISTINCT FROM (excluded.recorded_at, excluded.terms)
RETURNING document.block_id, document.tenant_id, document.conversation_id, document.version
