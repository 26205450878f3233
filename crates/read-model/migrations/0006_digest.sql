-- What a partition holds, in short: the XOR of sha256 over tenant, conversation, version and sequence of each of its
-- conversations. Lag alone does not see a hole; this, compared with the record, does.
ALTER TABLE conversations_v1.checkpoint ADD COLUMN digest bit(256) NOT NULL DEFAULT 0::bit(256);

-- A conversation's standing, as the projector works it out by itself.
CREATE FUNCTION hansard.standing_digest(
    tenant_id text, conversation_id text, version bigint, sequence bigint
) RETURNS bit(256)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('x' || encode(sha256(
    convert_to(tenant_id, 'UTF8') || '\x00'::bytea || convert_to(conversation_id, 'UTF8') || '\x00'::bytea
    || int8send(version) || int8send(sequence)
), 'hex'))::bit(256);

-- What is projected already counts, and what comes counts itself: no projector may move in between.
LOCK TABLE conversations_v1.checkpoint IN SHARE MODE;

UPDATE conversations_v1.checkpoint
SET digest = held.digest
FROM (
    SELECT partition, bit_xor(
               hansard.standing_digest(tenant_id, conversation_id, version, sequence)
           ) AS digest
    FROM conversations_v1.conversation
    GROUP BY partition
) AS held
WHERE held.partition = checkpoint.partition;
