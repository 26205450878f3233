SELECT partition, epoch, sequence
FROM checkpoint
WHERE $1::integer[] IS NULL OR partition = ANY ($1)
ORDER BY partition
