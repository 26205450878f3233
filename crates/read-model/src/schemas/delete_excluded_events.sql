DELETE FROM event
USING (
    SELECT tenant_id, conversation_id FROM incomplete
    UNION
    SELECT tenant_id, conversation_id FROM conversation_change WHERE status = 3
) AS left_out
WHERE event.tenant_id = left_out.tenant_id AND event.conversation_id = left_out.conversation_id
