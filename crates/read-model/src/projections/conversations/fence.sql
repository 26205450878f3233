UPDATE checkpoint
SET sequence = batch.last, updated_at = now(), digest = checkpoint.digest # ('x' || batch.change)::bit(256)
FROM unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
    AS batch (partition, epoch, previous, last, change)
WHERE checkpoint.partition = batch.partition
  AND checkpoint.epoch = batch.epoch
  AND checkpoint.sequence = batch.previous
RETURNING checkpoint.partition,
          EXISTS (
              SELECT FROM parked_conversation
              WHERE parked_conversation.partition = checkpoint.partition
          ) AS has_parked
