-- The limit bounds the rows that are corrected.
WITH held AS (
    SELECT day, agent_id, model, messages, input_tokens, output_tokens, cached_tokens, reasoning_tokens
    FROM usage_day
    WHERE tenant_id = $1 AND agent_id = $5 AND day BETWEEN $2 AND $3
    ORDER BY day, model
    LIMIT $4
), change AS (
    SELECT day, agent_id, model, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
        sum(cached_tokens) AS cached_tokens, sum(reasoning_tokens) AS reasoning_tokens
    FROM hansard.usage_correction
    WHERE tenant_id = $1 AND kind = 2 AND agent_id = $5 AND day BETWEEN $2 AND $3
    GROUP BY day, agent_id, model
)
SELECT day, agent_id, model, messages,
    greatest(least(held.input_tokens + coalesce(change.input_tokens, 0), 9223372036854775807), 0)::bigint AS input_tokens,
    greatest(least(held.output_tokens + coalesce(change.output_tokens, 0), 9223372036854775807), 0)::bigint AS output_tokens,
    greatest(least(held.cached_tokens + coalesce(change.cached_tokens, 0), 9223372036854775807), 0)::bigint AS cached_tokens,
    greatest(least(held.reasoning_tokens + coalesce(change.reasoning_tokens, 0), 9223372036854775807), 0)::bigint
        AS reasoning_tokens
FROM held LEFT JOIN change USING (day, agent_id, model)
ORDER BY day, model
