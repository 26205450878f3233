SELECT checkpoint.sequence AS checkpoint_sequence, parked.sequence AS parked_sequence, (
           SELECT max(version) FROM event WHERE tenant_id = $1 AND conversation_id = $2
       ) AS last_event, conversation.tenant_id IS NOT NULL AS has_row,
       {columns}
FROM checkpoint
LEFT JOIN conversation ON conversation.tenant_id = $1 AND conversation.conversation_id = $2
LEFT JOIN parked_conversation AS parked ON parked.tenant_id = $1 AND parked.conversation_id = $2
WHERE checkpoint.partition = $3
