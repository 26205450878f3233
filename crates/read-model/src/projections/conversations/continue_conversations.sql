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
FROM unnest(
    $1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::timestamptz[], $7::smallint[], $8::bytea[],
    $9::text[], $10::text[], $11::text[], $12::uuid[], $13::boolean[], $14::text[], $15::boolean[], $16::text[], $17::bigint[]
) AS change (
    tenant_id, conversation_id, first_version, version, sequence, last_event_at, status, head,
    user_id, session_id, channel_id, active_run_id, changes_title, title, changes_metadata, metadata_json,
    stored_bytes
)
WHERE conversation.tenant_id = change.tenant_id
  AND conversation.conversation_id = change.conversation_id
  AND conversation.version < change.first_version
  AND ($18 OR conversation.version + 1 = change.first_version)
