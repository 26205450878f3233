UPDATE hansard_bench.conversation
SET version = conversation.version + touched.events,
    sequence = conversation.sequence + touched.events,
    last_event_at = clock_timestamp(),
    head = conversation.head
FROM (
    SELECT tenant_id, conversation_id, count(*) AS events
    FROM unnest($1::text[], $2::text[]) AS row (tenant_id, conversation_id)
    GROUP BY tenant_id, conversation_id
) AS touched
WHERE conversation.tenant_id = touched.tenant_id
  AND conversation.conversation_id = touched.conversation_id
