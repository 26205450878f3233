SELECT rewind.version, rewind.recorded_at, rewind.recorded_nanos, rewind.body, rewind.commit_id, given.conversation_id
FROM unnest($2::text[]) AS given (conversation_id)
CROSS JOIN LATERAL (
    SELECT version, recorded_at, recorded_nanos, body, commit_id
    FROM event
    WHERE tenant_id = $1 AND event.conversation_id = given.conversation_id AND kind = 16
    ORDER BY version DESC
    LIMIT $3
) AS rewind
ORDER BY given.conversation_id, rewind.version DESC
