UPDATE checkpoint
SET digest = checkpoint.digest # ('x' || moved.change)::bit(256)
FROM unnest($1::integer[], $2::text[]) AS moved (partition, change)
WHERE checkpoint.partition = moved.partition
