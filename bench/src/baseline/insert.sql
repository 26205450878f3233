INSERT INTO hansard_bench.event (
    version, recorded_at, occurred_at, input_tokens, output_tokens, cached_tokens, sequence, commit_id,
    recorded_nanos, commit_index, event_count, kind, role,
    tenant_id, conversation_id, tool_name, call_id, model, request_digest, body
)
SELECT * FROM unnest(
    $1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
    $8::uuid[], $9::smallint[], $10::smallint[], $11::smallint[], $12::smallint[], $13::smallint[],
    $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::bytea[], $20::bytea[]
)
