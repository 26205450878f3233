DELETE FROM document
USING (
    SELECT tenant_id, conversation_id FROM incomplete
    UNION
    SELECT tenant_id, conversation_id FROM conversation_change WHERE status = 3
) AS left_out
WHERE document.tenant_id = left_out.tenant_id AND document.conversation_id = left_out.conversation_id
