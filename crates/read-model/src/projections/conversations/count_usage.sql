INSERT INTO usage_day AS held (
    messages, input_tokens, output_tokens, cached_tokens, reasoning_tokens, day, tenant_id, agent_id, model
)
SELECT * FROM unnest(
    $1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::date[], $7::text[], $8::text[], $9::text[]
)
-- Sums saturate at the maximum of the column, because a failure would block the projection.
ON CONFLICT (tenant_id, agent_id, day, model) DO UPDATE
SET messages = held.messages + excluded.messages,
    input_tokens = least(held.input_tokens::numeric + excluded.input_tokens, 9223372036854775807)::bigint,
    output_tokens = least(held.output_tokens::numeric + excluded.output_tokens, 9223372036854775807)::bigint,
    cached_tokens = least(held.cached_tokens::numeric + excluded.cached_tokens, 9223372036854775807)::bigint,
    reasoning_tokens = least(held.reasoning_tokens::numeric + excluded.reasoning_tokens, 9223372036854775807)::bigint
