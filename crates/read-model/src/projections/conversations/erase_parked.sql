WITH erased AS (
    SELECT * FROM unnest($1::text[], $2::text[]) AS erased (tenant_id, conversation_id)
), freed AS (
    DELETE FROM parked_commit USING erased
    WHERE parked_commit.tenant_id = erased.tenant_id
      AND parked_commit.conversation_id = erased.conversation_id
)
DELETE FROM parked_conversation USING erased
WHERE parked_conversation.tenant_id = erased.tenant_id
  AND parked_conversation.conversation_id = erased.conversation_id
