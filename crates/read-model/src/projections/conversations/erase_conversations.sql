{insert}
ON CONFLICT (tenant_id, conversation_id) DO UPDATE
SET version = excluded.version,
    sequence = excluded.sequence,
    created_at = excluded.created_at,
    last_event_at = excluded.last_event_at,
    created_nanos = excluded.created_nanos,
    status = excluded.status,
    user_id = NULL,
    session_id = NULL,
    channel_id = NULL,
    active_run_id = NULL,
    forked_from = NULL,
    head = excluded.head,
    title = NULL,
    metadata_json = NULL,
    client_context = NULL,
    stored_bytes = 0
WHERE conversation.version < excluded.version
