-- As usage: the previous schema counts runs of erased conversations.
INSERT INTO run_day AS held (runs, day, outcome, tenant_id, agent_id)
SELECT runs, day, outcome, tenant_id, agent_id
FROM {from}.run_day
ON CONFLICT (tenant_id, day, agent_id, outcome) DO UPDATE
SET runs = greatest(held.runs, excluded.runs)
