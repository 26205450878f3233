SELECT day, scope, name, calls, input_tokens, output_tokens
FROM hansard.model_usage
WHERE tenant_id = $1 AND scope IN (2, 3) AND day BETWEEN $2 AND $3 AND ($5::text IS NULL OR scope = 2 AND name = $5)
ORDER BY day, scope, name
LIMIT $4
