SELECT tenant_id, conversation_id, partition, sequence, reason, attempts,
       (SELECT count(*) FROM parked_commit
        WHERE parked_commit.tenant_id = parked_conversation.tenant_id
          AND parked_commit.conversation_id = parked_conversation.conversation_id) AS commits
FROM parked_conversation
WHERE ($1::integer IS NULL OR partition = $1)
  AND (tenant_id, conversation_id) > ($2, $3)
ORDER BY tenant_id, conversation_id
LIMIT $4
