SELECT tenant_id, agent_id, is_enabled, language, indexed_conversation, indexed_version
FROM search_v1.agent
WHERE indexed_generation < generation AND (tenant_id, agent_id) > ($1, $2)
ORDER BY tenant_id, agent_id
LIMIT 1
FOR UPDATE SKIP LOCKED
