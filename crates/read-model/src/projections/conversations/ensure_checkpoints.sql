INSERT INTO checkpoint (sequence, epoch, updated_at, partition)
SELECT 0, 0, now(), partition FROM generate_series(0, $1::integer - 1) AS partition
ON CONFLICT (partition) DO NOTHING
