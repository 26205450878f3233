SELECT day, agent_id, outcome, runs
FROM run_day
WHERE tenant_id = $1 AND day BETWEEN $2 AND $3 AND ($5::text IS NULL OR agent_id = $5)
ORDER BY day, agent_id, outcome
LIMIT $4
