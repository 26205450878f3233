-- As the page of recorded events, with the documents of the agent's conversations, which are deleted.
WITH scanned AS (
    SELECT conversation_id, agent_id = $2 AS is_indexed
    FROM conversation
    WHERE tenant_id = $1 AND (conversation_id > $3 OR conversation_id = $3 AND $4 < 9223372036854775807)
      AND conversation_id >= $3
    ORDER BY conversation_id
    LIMIT $5
), marked AS (
    SELECT document.version, scanned.conversation_id
    FROM scanned
    CROSS JOIN LATERAL (
        (
            SELECT version FROM search_v1.document
            WHERE scanned.is_indexed AND tenant_id = $1 AND conversation_id = scanned.conversation_id
            ORDER BY version
            LIMIT $6
        )
        UNION ALL
        SELECT NULL
    ) AS document
    ORDER BY scanned.conversation_id, document.version NULLS LAST
    LIMIT $6
), deleted AS (
    DELETE FROM search_v1.document
    USING marked
    WHERE document.tenant_id = $1
      AND document.conversation_id = marked.conversation_id
      AND document.version = marked.version
)
SELECT version, conversation_id
FROM marked
ORDER BY conversation_id, version NULLS LAST
