SELECT partition, epoch, sequence,
       CASE WHEN lease_until >= now() THEN holder END AS holder,
       (SELECT count(*) FROM parked_conversation
        WHERE parked_conversation.partition = checkpoint.partition) AS parked
FROM checkpoint
ORDER BY partition
