SELECT sequence, NULL::timestamptz AS recorded_at, NULL::smallint AS recorded_nanos, head, NULL::uuid AS commit_id
FROM conversation
WHERE tenant_id = $1 AND conversation_id = $2
UNION ALL
SELECT version, recorded_at, recorded_nanos, body, commit_id
FROM (
    SELECT version, recorded_at, recorded_nanos, body, commit_id,
           sum(octet_length(body)) OVER (ORDER BY version {direction} ROWS UNBOUNDED PRECEDING) - octet_length(body) AS bytes_before
    FROM (
        SELECT version, recorded_at, recorded_nanos, body, commit_id
        FROM event
        WHERE tenant_id = $1 AND conversation_id = $2 AND version BETWEEN $3 AND $4
          AND ($6::smallint[] IS NULL OR kind = ANY ($6))
        ORDER BY version {direction}
        LIMIT $5
    ) AS page
) AS counted
WHERE bytes_before < $7
