SELECT started_at, kept_until, first_piece_ms, took_ms, request_bytes, reply_bytes, input_tokens, output_tokens, cached_tokens,
       reasoning_tokens, attempt, log_id, run_id, http_status, purpose, request_is_cut, reply_is_cut, conversation_id, agent_id,
       model_server, model, outcome, finish_reason, request, reply
FROM hansard.provider_log
WHERE tenant_id = $1 AND log_id = $2
