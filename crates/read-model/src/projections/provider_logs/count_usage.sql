INSERT INTO hansard.model_usage AS held (calls, input_tokens, output_tokens, day, scope, tenant_id, name)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::date[], $5::smallint[], $6::text[], $7::text[])
-- No sum may fail: it would hold up what it counts. So sums end where the column does.
ON CONFLICT (tenant_id, scope, day, name) DO UPDATE
SET calls = held.calls + excluded.calls,
    input_tokens = least(held.input_tokens::numeric + excluded.input_tokens, 9223372036854775807)::bigint,
    output_tokens = least(held.output_tokens::numeric + excluded.output_tokens, 9223372036854775807)::bigint
