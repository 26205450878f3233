UPDATE search_v1.agent SET indexed_generation = generation, indexed_conversation = '', indexed_version = 0
WHERE tenant_id = $1 AND agent_id = $2
