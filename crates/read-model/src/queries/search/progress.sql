SELECT partition, sequence, indexed_at,
       EXISTS (SELECT FROM search_v1.agent WHERE tenant_id = $1 AND indexed_generation < generation) AS is_reindexing
FROM search_v1.checkpoint
ORDER BY partition
