SELECT event.version, event.sequence, event.recorded_at, event.recorded_nanos,
       event.request_digest, event.event_count, conversation.partition
FROM event
JOIN conversation USING (tenant_id, conversation_id)
WHERE event.tenant_id = $1 AND event.conversation_id = $2
  AND event.commit_id = $3 AND event.commit_index = 0
