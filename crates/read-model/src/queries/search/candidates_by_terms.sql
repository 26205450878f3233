WITH candidates AS MATERIALIZED (
    SELECT recorded_at, conversation_id, version
    FROM search_v1.own_document
    -- Not a condition of an index: terms are keyed by tenant, so their index alone finds few documents.
    WHERE (tenant_id = $1) IS TRUE {all} {any}
      AND NOT terms && $3::bigint[]
      AND recorded_at >= $4
      AND (recorded_at, conversation_id, version) < ($5, $6, $7)
    LIMIT $9
)
