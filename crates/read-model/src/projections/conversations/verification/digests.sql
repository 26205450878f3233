SELECT checkpoint.partition, checkpoint.sequence, checkpoint.digest::text AS kept,
       coalesce(held.digest, 0::bit(256))::text AS held, coalesce(held.conversations, 0) AS conversations
FROM checkpoint
LEFT JOIN (
    SELECT partition, count(*) AS conversations,
           bit_xor(hansard.standing_digest(tenant_id, conversation_id, version, sequence)) AS digest
    FROM conversation
    GROUP BY partition
) AS held USING (partition)
ORDER BY checkpoint.partition
