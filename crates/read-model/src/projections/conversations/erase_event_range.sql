WITH searched AS (
    DELETE FROM search_v1.document
    WHERE tenant_id = $1 AND conversation_id = $2 AND version BETWEEN $3 AND $4
)
DELETE FROM event
WHERE tenant_id = $1 AND conversation_id = $2 AND version BETWEEN $3 AND $4
