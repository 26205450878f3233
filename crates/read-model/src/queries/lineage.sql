WITH RECURSIVE ancestor AS (
    SELECT sequence, head, conversation_id, forked_from, 1 AS depth
    FROM conversation
    WHERE tenant_id = $1 AND conversation_id = $2
    UNION ALL
    SELECT parent.sequence, parent.head, parent.conversation_id, parent.forked_from, ancestor.depth + 1
    FROM ancestor
    CROSS JOIN LATERAL (
        SELECT sequence, head, conversation_id, forked_from
        FROM conversation
        WHERE tenant_id = $1 AND conversation_id = ancestor.forked_from
    ) AS parent
    WHERE ancestor.depth < $3
)
SELECT sequence, NULL::timestamptz AS recorded_at, NULL::smallint AS recorded_nanos, head, NULL::uuid AS commit_id,
       conversation_id
FROM ancestor
ORDER BY depth
