SELECT wanted.place, held.input_tokens, held.output_tokens, held.corrections
FROM unnest($3::smallint[], $4::text[]) WITH ORDINALITY AS wanted (scope, name, place)
JOIN hansard.model_usage AS held
    ON held.tenant_id = $1 AND held.scope = wanted.scope AND held.name = wanted.name AND held.day = $2
