SELECT agent.tenant_id, agent.agent_id, agent.is_enabled, agent.language
FROM unnest($1::text[], $2::text[]) AS given (tenant_id, agent_id)
JOIN search_v1.agent ON agent.tenant_id = given.tenant_id AND agent.agent_id = given.agent_id
-- Every statement locks agents in this order, which prevents deadlocks.
ORDER BY agent.tenant_id, agent.agent_id
FOR SHARE OF agent
