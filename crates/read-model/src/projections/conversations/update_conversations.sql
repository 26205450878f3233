UPDATE conversation
SET version = change.version,
    sequence = change.sequence,
    last_event_at = change.last_event_at,
    status = change.status,
    head = change.head,
    user_id = change.user_id,
    session_id = change.session_id,
    channel_id = change.channel_id,
    active_run_id = change.active_run_id,
    stored_bytes = conversation.stored_bytes + change.stored_bytes,
    title = CASE WHEN change.changes_title THEN change.title ELSE conversation.title END,
    metadata_json = CASE WHEN change.changes_metadata THEN change.metadata_json
                         ELSE conversation.metadata_json END
FROM unnest({arrays}) AS change ({columns})
WHERE conversation.tenant_id = change.tenant_id
  AND conversation.conversation_id = change.conversation_id
  AND conversation.version < change.first_version
  AND (${accepts_gaps} OR conversation.version + 1 = change.first_version)
