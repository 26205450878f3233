-- All commits of these conversations wait, and a retry finds the second of the two.
WITH waiting AS (
    INSERT INTO parked_commit (sequence, tenant_id, conversation_id)
    SELECT event.sequence, event.tenant_id, event.conversation_id
    FROM event JOIN repeated USING (tenant_id, conversation_id)
    WHERE event.commit_index = 0
    ON CONFLICT (tenant_id, conversation_id, sequence) DO NOTHING
    RETURNING sequence, tenant_id, conversation_id
)
INSERT INTO parked_conversation (
    sequence, parked_at, partition, attempts, gaps_accepted, tenant_id, conversation_id, reason
)
SELECT min(waiting.sequence), now(), conversation.partition, 1, false, tenant_id, conversation_id,
       'two of its commits have the same id: a retry finds the second one, which is to be dropped'
FROM waiting JOIN conversation USING (tenant_id, conversation_id)
GROUP BY conversation.partition, tenant_id, conversation_id
ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET sequence = excluded.sequence, reason = excluded.reason
