UPDATE checkpoint
SET sequence = batch.last, updated_at = now(), digest = checkpoint.digest # ('x' || batch.change)::bit(256),
    record_id = $5,
    commit_sequence = coalesce(batch.commit_sequence, checkpoint.commit_sequence),
    commit_id = coalesce(batch.commit_id, checkpoint.commit_id),
    chain = coalesce(batch.chain, checkpoint.chain)
FROM unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bigint[], $6::bigint[], $7::uuid[], $8::bytea[], $9::text[])
    AS batch (partition, epoch, previous, last, commit_sequence, commit_id, chain, change)
WHERE checkpoint.partition = batch.partition
  AND checkpoint.epoch = batch.epoch
  AND checkpoint.sequence = batch.previous
  -- Rows of another record stay as they are.
  AND (checkpoint.record_id IS NULL OR checkpoint.record_id = $5)
RETURNING checkpoint.partition,
          EXISTS (
              SELECT FROM parked_conversation
              WHERE parked_conversation.partition = checkpoint.partition
          ) AS has_parked
