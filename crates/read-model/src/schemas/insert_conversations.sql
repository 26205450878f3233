-- A row has the values of the last change, except those that only the first change sets, and those that the last change does
-- not contain. An erased conversation has only its tombstone.
INSERT INTO conversation (
    version, sequence, created_at, last_event_at, partition, created_nanos, status,
    tenant_id, conversation_id, agent_id, head, user_id, session_id, channel_id, active_run_id,
    title, metadata_json, client_context, forked_from, stored_bytes
)
SELECT DISTINCT ON (tenant_id, conversation_id)
       version, sequence,
       CASE WHEN status = 3 THEN created_at ELSE first_value(created_at) OVER oldest END,
       last_event_at, partition,
       CASE WHEN status = 3 THEN created_nanos ELSE first_value(created_nanos) OVER oldest END,
       status, tenant_id, conversation_id, agent_id, head,
       CASE WHEN status <> 3 THEN user_id END,
       CASE WHEN status <> 3 THEN session_id END,
       CASE WHEN status <> 3 THEN channel_id END,
       CASE WHEN status <> 3 THEN active_run_id END,
       CASE WHEN status <> 3 THEN first_value(title) OVER titled END,
       CASE WHEN status <> 3 THEN first_value(metadata_json) OVER described END,
       CASE WHEN status <> 3 THEN first_value(client_context) OVER oldest END,
       CASE WHEN status <> 3 THEN first_value(forked_from) OVER oldest END,
       CASE WHEN status <> 3 THEN sum(stored_bytes) OVER whole ELSE 0 END
FROM conversation_change AS change
WHERE NOT EXISTS (
    SELECT FROM incomplete
    WHERE incomplete.tenant_id = change.tenant_id AND incomplete.conversation_id = change.conversation_id
)
WINDOW whole AS (PARTITION BY tenant_id, conversation_id),
       oldest AS (PARTITION BY tenant_id, conversation_id ORDER BY version),
       titled AS (PARTITION BY tenant_id, conversation_id ORDER BY changes_title DESC, version DESC),
       described AS (PARTITION BY tenant_id, conversation_id ORDER BY changes_metadata DESC, version DESC)
ORDER BY tenant_id, conversation_id, version DESC
