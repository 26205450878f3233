UPDATE checkpoint
SET epoch = epoch + 1, holder = $1, lease_until = now() + $2::bigint * interval '1 millisecond'
-- Every statement locks checkpoints in this order, which prevents deadlocks.
FROM (SELECT partition FROM checkpoint ORDER BY partition FOR UPDATE) AS locked
WHERE checkpoint.partition = locked.partition
RETURNING checkpoint.partition, checkpoint.epoch, checkpoint.sequence
