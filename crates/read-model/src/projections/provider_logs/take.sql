UPDATE hansard.provider_log_checkpoint
SET holder = $1, held_until = clock_timestamp() + $2 * interval '1 millisecond'
WHERE holder = $1 OR held_until < clock_timestamp()
RETURNING sequence
