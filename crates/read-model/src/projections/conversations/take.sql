UPDATE checkpoint
SET epoch = epoch + 1, holder = $2, lease_until = now() + $3::bigint * interval '1 millisecond'
WHERE partition = (
    SELECT partition FROM checkpoint
    WHERE partition = $1 AND (lease_until IS NULL OR lease_until < now())
    -- A row that a frozen projector has locked is retried later.
    FOR UPDATE SKIP LOCKED
)
RETURNING partition, epoch, sequence
