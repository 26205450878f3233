DELETE FROM hansard.provider_log AS log
USING (
    SELECT tenant_id, log_id FROM hansard.provider_log
    WHERE kept_until <= $1
    ORDER BY kept_until
    LIMIT $2
) AS past
WHERE log.tenant_id = past.tenant_id AND log.log_id = past.log_id
RETURNING 1
