WITH candidates AS MATERIALIZED (
    SELECT document.recorded_at, document.conversation_id, document.version
    FROM unnest({blocks}::bigint[]) AS wanted (block_id)
    CROSS JOIN LATERAL (
        SELECT recorded_at, conversation_id, version
        FROM search_v1.document
        WHERE document.block_id = wanted.block_id AND tenant_id = $1 {all} {any}
          AND NOT terms && $3::integer[]
          AND recorded_at >= $4
          AND (recorded_at, conversation_id, version) < ($5, $6, $7)
        OFFSET 0
    ) AS document
)
