INSERT INTO hansard.model_usage AS held (calls, input_tokens, output_tokens, day, scope, tenant_id, name)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::date[], $5::smallint[], $6::text[], $7::text[])
-- Sums saturate at the maximum of the column, because a failure would block the projection.
ON CONFLICT (tenant_id, scope, day, name) DO UPDATE
SET calls = held.calls + excluded.calls,
    input_tokens = least(held.input_tokens::numeric + excluded.input_tokens, 9223372036854775807)::bigint,
    output_tokens = least(held.output_tokens::numeric + excluded.output_tokens, 9223372036854775807)::bigint
