-- All commits of these conversations wait, and a retry finds the failing one. Usually there are none; then EXISTS avoids a
-- scan of all events.
WITH waiting AS (
    INSERT INTO parked_commit (sequence, tenant_id, conversation_id)
    SELECT event.sequence, event.tenant_id, event.conversation_id
    FROM event JOIN incomplete USING (tenant_id, conversation_id)
    WHERE event.commit_index = 0 AND EXISTS (SELECT FROM incomplete)
    ON CONFLICT (tenant_id, conversation_id, sequence) DO NOTHING
    RETURNING sequence, tenant_id, conversation_id
)
INSERT INTO parked_conversation (
    sequence, parked_at, partition, attempts, gaps_accepted, tenant_id, conversation_id, reason
)
SELECT min(waiting.sequence), now(), incomplete.partition, 1, false, tenant_id, conversation_id,
       'a commit before it is missing'
FROM waiting JOIN incomplete USING (tenant_id, conversation_id)
GROUP BY incomplete.partition, tenant_id, conversation_id
ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET sequence = excluded.sequence
