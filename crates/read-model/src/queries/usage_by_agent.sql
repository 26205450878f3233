SELECT day, agent_id, model, messages, input_tokens, output_tokens, cached_tokens, reasoning_tokens
FROM usage_day
WHERE tenant_id = $1 AND agent_id = $5 AND day BETWEEN $2 AND $3
ORDER BY day, model
LIMIT $4
