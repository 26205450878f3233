UPDATE checkpoint
SET digest = coalesce((
    SELECT bit_xor(hansard.standing_digest(tenant_id, conversation_id, version, sequence))
    FROM conversation
    WHERE conversation.partition = checkpoint.partition
), 0::bit(256))
