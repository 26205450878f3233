SELECT partition, sequence, commit_sequence, commit_id, record_id, chain
FROM checkpoint
ORDER BY partition
