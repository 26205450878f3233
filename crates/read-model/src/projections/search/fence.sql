UPDATE checkpoint
SET sequence = batch.last, updated_at = now(), indexed_at = greatest(checkpoint.indexed_at, batch.recorded_at)
FROM unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bigint[], $5::timestamptz[])
    AS batch (partition, epoch, previous, last, recorded_at)
WHERE checkpoint.partition = batch.partition
  AND checkpoint.epoch = batch.epoch
  AND checkpoint.sequence = batch.previous
RETURNING checkpoint.partition
