WITH RECURSIVE ancestor AS (
    SELECT sequence, head, conversation_id, forked_from, 1 AS depth,
           (SELECT min(version) FROM event WHERE tenant_id = $1 AND event.conversation_id = $2) AS first,
           $4::bigint AS last, 0::bigint AS newer
    FROM conversation
    WHERE tenant_id = $1 AND conversation_id = $2
    UNION ALL
    SELECT parent.sequence, parent.head, parent.conversation_id, parent.forked_from, ancestor.depth + 1, parent.first,
           least(ancestor.last, ancestor.first - 1), ancestor.newer + greatest(ancestor.last - ancestor.first + 1, 0)
    FROM ancestor
    CROSS JOIN LATERAL (
        SELECT sequence, head, conversation_id, forked_from,
               (SELECT min(version) FROM event WHERE tenant_id = $1 AND event.conversation_id = ancestor.forked_from) AS first
        FROM conversation
        WHERE tenant_id = $1 AND conversation_id = ancestor.forked_from
    ) AS parent
    WHERE ancestor.depth < $3
)
(
    SELECT sequence, NULL::timestamptz AS recorded_at, NULL::smallint AS recorded_nanos, head, NULL::uuid AS commit_id,
           conversation_id
    FROM ancestor
    ORDER BY depth
)
UNION ALL
SELECT version, recorded_at, recorded_nanos, body, commit_id, conversation_id
FROM (
    SELECT version, recorded_at, recorded_nanos, body, commit_id, conversation_id,
           sum(octet_length(body)) OVER (ORDER BY version DESC ROWS UNBOUNDED PRECEDING) - octet_length(body) AS bytes_before
    FROM (
        SELECT inherited.*
        FROM ancestor
        CROSS JOIN LATERAL (
            SELECT version, recorded_at, recorded_nanos, body, commit_id, event.conversation_id
            FROM event
            WHERE tenant_id = $1 AND event.conversation_id = ancestor.conversation_id
              AND version BETWEEN $5 AND ancestor.last
              AND ($7::smallint[] IS NULL OR kind = ANY ($7))
            ORDER BY version DESC
            LIMIT $6
        ) AS inherited
        WHERE ancestor.newer < $6
        ORDER BY version DESC
        LIMIT $6
    ) AS page
) AS counted
WHERE bytes_before < $8
