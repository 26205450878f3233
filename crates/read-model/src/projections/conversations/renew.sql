UPDATE checkpoint
SET lease_until = now() + $3::bigint * interval '1 millisecond'
FROM unnest($1::integer[], $2::bigint[]) AS held (partition, epoch)
WHERE checkpoint.partition = held.partition AND checkpoint.epoch = held.epoch
RETURNING checkpoint.partition, checkpoint.epoch, checkpoint.sequence
