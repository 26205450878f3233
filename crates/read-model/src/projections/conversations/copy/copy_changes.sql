COPY conversation_change (
    first_version, version, sequence, stored_bytes, created_at, last_event_at, active_run_id,
    partition, created_nanos, status, changes_title, changes_metadata,
    tenant_id, conversation_id, agent_id, user_id, session_id, channel_id, forked_from,
    head, client_context, title, metadata_json
) FROM STDIN (FORMAT binary)
