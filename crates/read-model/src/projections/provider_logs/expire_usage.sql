DELETE FROM hansard.model_usage AS usage
USING (
    SELECT tenant_id, scope, name, day FROM hansard.model_usage
    WHERE scope = ANY($1::smallint[]) AND day < $2
    LIMIT $3
) AS past
WHERE usage.tenant_id = past.tenant_id AND usage.scope = past.scope AND usage.name = past.name AND usage.day = past.day
RETURNING 1
