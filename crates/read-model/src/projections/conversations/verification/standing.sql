SELECT checkpoint.sequence AS checkpoint_sequence, parked.sequence AS parked_sequence, (
           SELECT max(version) FROM event WHERE tenant_id = $1 AND conversation_id = $2
       ) AS last_event, conversation.tenant_id IS NOT NULL AS has_row,
       conversation.version, conversation.sequence, conversation.created_at, conversation.last_event_at,
       conversation.partition, conversation.created_nanos, conversation.status,
       conversation.tenant_id, conversation.conversation_id, conversation.agent_id, conversation.head,
       conversation.user_id, conversation.session_id, conversation.channel_id, conversation.active_run_id,
       conversation.title, conversation.metadata_json, conversation.client_context, conversation.forked_from,
       conversation.stored_bytes
FROM checkpoint
LEFT JOIN conversation ON conversation.tenant_id = $1 AND conversation.conversation_id = $2
LEFT JOIN parked_conversation AS parked ON parked.tenant_id = $1 AND parked.conversation_id = $2
WHERE checkpoint.partition = $3
