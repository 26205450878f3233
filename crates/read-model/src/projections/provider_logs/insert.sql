INSERT INTO hansard.provider_log (
    started_at, kept_until, first_piece_ms, took_ms, request_bytes, reply_bytes,
    input_tokens, output_tokens, cached_tokens, reasoning_tokens, attempt, log_id, run_id, http_status, purpose,
    request_is_cut, reply_is_cut, tenant_id, conversation_id, agent_id, model_server, model, outcome, finish_reason,
    request, reply
)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26
WHERE NOT EXISTS (
    SELECT 1 FROM conversation
    WHERE conversation.tenant_id = $18 AND conversation.conversation_id = $19 AND conversation.status = 3
)
ON CONFLICT (tenant_id, log_id) DO NOTHING
