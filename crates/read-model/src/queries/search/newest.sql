(
        SELECT recorded_at, conversation_id, version
        FROM search_v1.own_document AS document
        WHERE tenant_id = $1 {all} {any}
          AND NOT terms && $3::bigint[]
          AND recorded_at >= $4
          AND (recorded_at, conversation_id, version) < ($5, $6, $7)
          -- The condition of the index of times.
          AND version >= 0
        ORDER BY recorded_at DESC, conversation_id DESC, version DESC
    )
