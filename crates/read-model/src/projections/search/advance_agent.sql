UPDATE search_v1.agent SET indexed_conversation = $3, indexed_version = $4
WHERE tenant_id = $1 AND agent_id = $2
