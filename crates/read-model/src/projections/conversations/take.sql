UPDATE checkpoint
SET epoch = epoch + 1, holder = $2, lease_until = now() + $3::bigint * interval '1 millisecond'
WHERE partition = (
    SELECT partition FROM checkpoint
    WHERE partition = $1 AND (lease_until IS NULL OR lease_until < now())
    -- The row of a projector that stands still in its transaction is tried again later, not waited for.
    FOR UPDATE SKIP LOCKED
)
RETURNING partition, epoch, sequence
