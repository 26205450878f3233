SELECT version, sequence, created_at, last_event_at, partition, created_nanos, status,
       tenant_id, conversation_id, agent_id, head, user_id, session_id, channel_id, active_run_id, title,
       metadata_json, client_context, forked_from, stored_bytes
FROM conversation
WHERE (tenant_id, conversation_id) > ($1, $2) AND (tenant_id, conversation_id) <= ($3, $4)
ORDER BY tenant_id, conversation_id
LIMIT $5
