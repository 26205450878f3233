WITH once AS (
    INSERT INTO hansard.usage_correction (
        input_tokens, output_tokens, cached_tokens, reasoning_tokens, day, kind, correction_id, tenant_id, agent_id, model
    )
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT DO NOTHING
    RETURNING kind
)
UPDATE hansard.model_usage AS held
SET input_tokens = greatest(least(held.input_tokens::numeric + $1, 9223372036854775807), 0)::bigint,
    output_tokens = greatest(least(held.output_tokens::numeric + $2, 9223372036854775807), 0)::bigint,
    corrections = held.corrections + 1
FROM once, unnest($11::smallint[], $12::text[]) AS corrected (scope, name)
WHERE held.tenant_id = $8 AND held.day = $5 AND held.scope = corrected.scope AND held.name = corrected.name
