UPDATE checkpoint
SET epoch = epoch + 1, holder = $1, lease_until = now() + $2::bigint * interval '1 millisecond'
-- In one order everywhere, so that two who want the same rows do not wait for each other.
FROM (SELECT partition FROM checkpoint ORDER BY partition FOR UPDATE) AS locked
WHERE checkpoint.partition = locked.partition
RETURNING checkpoint.partition, checkpoint.epoch, checkpoint.sequence
