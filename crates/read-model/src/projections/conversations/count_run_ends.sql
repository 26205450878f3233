INSERT INTO run_day AS held (runs, day, outcome, tenant_id, agent_id)
SELECT * FROM unnest($1::bigint[], $2::date[], $3::smallint[], $4::text[], $5::text[])
ON CONFLICT (tenant_id, day, agent_id, outcome) DO UPDATE
SET runs = held.runs + excluded.runs
