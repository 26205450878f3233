INSERT INTO search_v1.agent AS held (
    generation, indexed_generation, indexed_version, is_enabled, tenant_id, agent_id, language, indexed_conversation
)
SELECT DISTINCT 1, 0, 0, true, tenant_id, agent_id, '', ''
FROM storage
WHERE ($1::text IS NULL OR tenant_id = $1) AND agent_id <> 'hansard-audit-log'
ORDER BY tenant_id, agent_id
ON CONFLICT (tenant_id, agent_id) DO UPDATE
SET generation = held.generation + 1, indexed_conversation = '', indexed_version = 0
RETURNING held.agent_id
