UPDATE checkpoint
SET lease_until = NULL, holder = NULL
FROM unnest($1::integer[], $2::bigint[]) AS held (partition, epoch)
WHERE checkpoint.partition = held.partition AND checkpoint.epoch = held.epoch
