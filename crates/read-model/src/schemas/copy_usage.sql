-- The previous schema counts the usage of erased conversations, which the record no longer contains. Otherwise both are equal.
INSERT INTO usage_day AS held (
    messages, input_tokens, output_tokens, cached_tokens, reasoning_tokens, day, tenant_id, agent_id, model
)
SELECT messages, input_tokens, output_tokens, cached_tokens, reasoning_tokens, day, tenant_id, agent_id, model
FROM {from}.usage_day
ON CONFLICT (tenant_id, agent_id, day, model) DO UPDATE
SET messages = greatest(held.messages, excluded.messages),
    input_tokens = greatest(held.input_tokens, excluded.input_tokens),
    output_tokens = greatest(held.output_tokens, excluded.output_tokens),
    cached_tokens = greatest(held.cached_tokens, excluded.cached_tokens),
    reasoning_tokens = greatest(held.reasoning_tokens, excluded.reasoning_tokens)
