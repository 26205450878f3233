SELECT sequence, created_at, created_nanos, head, NULL::uuid AS commit_id,
       conversation_id, partition, title, metadata_json, client_context
FROM conversation
WHERE tenant_id = $1 AND conversation_id = $2
UNION ALL
SELECT version, recorded_at, recorded_nanos, body, commit_id, NULL, NULL, NULL, NULL, NULL
FROM (
    SELECT version, recorded_at, recorded_nanos, body, commit_id,
           sum(octet_length(body)) OVER (ORDER BY version) - octet_length(body) AS bytes_before
    FROM (
        SELECT version, recorded_at, recorded_nanos, body, commit_id
        FROM event
        WHERE tenant_id = $1 AND conversation_id = $2 AND version BETWEEN $3 AND $4
          AND ($7::smallint[] IS NULL OR kind = ANY ($7))
        ORDER BY version
        LIMIT $5
    ) AS page
) AS counted
WHERE bytes_before < $6
