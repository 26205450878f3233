SELECT tenant_id, conversation_id, partition, sequence, reason, attempts,
       (SELECT count(*) FROM parked_commit
        WHERE parked_commit.tenant_id = parked_conversation.tenant_id
          AND parked_commit.conversation_id = parked_conversation.conversation_id) AS commits
FROM parked_conversation
WHERE tenant_id = $1 AND conversation_id = $2
