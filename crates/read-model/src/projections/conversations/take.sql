UPDATE checkpoint
SET epoch = epoch + 1, holder = $2, lease_until = now() + $3::bigint * interval '1 millisecond'
WHERE partition = $1 AND (lease_until IS NULL OR lease_until < now())
RETURNING partition, epoch, sequence
