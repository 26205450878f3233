SELECT checkpoint.partition
FROM checkpoint
WHERE partition = (
    SELECT partition FROM parked_conversation WHERE tenant_id = $1 AND conversation_id = $2
)
FOR UPDATE
