DELETE FROM hansard.parked_request
WHERE (tenant_id, conversation_id) IN (
    SELECT tenant_id, conversation_id
    FROM hansard.parked_request
    ORDER BY requested_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
RETURNING tenant_id, conversation_id, dropped_sequence
