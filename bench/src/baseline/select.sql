SELECT version, recorded_at, occurred_at, input_tokens, output_tokens, cached_tokens, sequence, commit_id,
    recorded_nanos, commit_index, event_count, kind, role,
    tenant_id, conversation_id, tool_name, call_id, model, request_digest, body
FROM conversations_v1.event
ORDER BY recorded_at DESC
LIMIT $1
