SELECT sequence AS version, NULL::timestamptz AS recorded_at, NULL::smallint AS recorded_nanos, head AS body,
       NULL::uuid AS commit_id, conversation_id
FROM conversation
WHERE tenant_id = $1 AND conversation_id = ANY ($2)
UNION ALL
SELECT version, recorded_at, recorded_nanos, body, commit_id, conversation_id
FROM (
    SELECT version, recorded_at, recorded_nanos, body, commit_id, conversation_id,
           sum(octet_length(body)) OVER (ORDER BY version DESC ROWS UNBOUNDED PRECEDING) - octet_length(body) AS bytes_before
    FROM (
        SELECT of_range.*
        FROM unnest($2::text[], $3::bigint[], $4::bigint[]) AS wanted (conversation_id, first, last)
        CROSS JOIN LATERAL (
            SELECT version, recorded_at, recorded_nanos, body, commit_id, event.conversation_id
            FROM event
            WHERE tenant_id = $1 AND event.conversation_id = wanted.conversation_id
              AND version BETWEEN wanted.first AND wanted.last
              AND ($6::smallint[] IS NULL OR kind = ANY ($6))
            ORDER BY version DESC
            LIMIT $5
        ) AS of_range
        ORDER BY version DESC
        LIMIT $5
    ) AS page
) AS counted
WHERE bytes_before < $7
