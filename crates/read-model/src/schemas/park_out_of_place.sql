-- All of their commits wait, to be tried again one after the other: what fails then tells why. Nearly always there are none, and
-- then not all events are read to find that out.
WITH waiting AS (
    INSERT INTO parked_commit (sequence, tenant_id, conversation_id)
    SELECT event.sequence, event.tenant_id, event.conversation_id
    FROM event JOIN out_of_place USING (tenant_id, conversation_id)
    WHERE event.commit_index = 0 AND EXISTS (SELECT FROM out_of_place)
    ON CONFLICT (tenant_id, conversation_id, sequence) DO NOTHING
    RETURNING sequence, tenant_id, conversation_id
)
INSERT INTO parked_conversation (
    sequence, parked_at, partition, attempts, gaps_accepted, tenant_id, conversation_id, reason
)
SELECT min(waiting.sequence), now(), out_of_place.partition, 1, false, tenant_id, conversation_id,
       'a commit before it is missing'
FROM waiting JOIN out_of_place USING (tenant_id, conversation_id)
GROUP BY out_of_place.partition, tenant_id, conversation_id
ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET sequence = excluded.sequence
