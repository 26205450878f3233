INSERT INTO search_v1.agent (
    generation, indexed_generation, indexed_version, is_enabled, tenant_id, agent_id, language, indexed_conversation
)
SELECT 1, 1, 0, true, tenant_id, agent_id, '', ''
FROM unnest($1::text[], $2::text[]) AS given (tenant_id, agent_id)
ORDER BY tenant_id COLLATE "C", agent_id COLLATE "C"
ON CONFLICT (tenant_id, agent_id) DO NOTHING
