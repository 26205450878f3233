SELECT started_at, kept_until, first_piece_ms, took_ms, request_bytes, reply_bytes, input_tokens, output_tokens, cached_tokens,
       reasoning_tokens, attempt, log_id, run_id, http_status, purpose, request_is_cut, reply_is_cut, conversation_id, agent_id,
       model_server, model, outcome, finish_reason, NULL::bytea AS request, NULL::bytea AS reply
FROM hansard.provider_log
WHERE tenant_id = $1 {filter}
      AND (started_at, log_id) < ($2, $3) AND started_at >= $4
      AND ($5::text IS NULL OR outcome = $5)
ORDER BY started_at DESC, log_id DESC
LIMIT $6
