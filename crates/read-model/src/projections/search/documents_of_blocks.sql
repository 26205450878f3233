SELECT document.block_id, document.recorded_at, document.terms
FROM unnest($1::bigint[]) AS given (block_id)
JOIN document ON document.block_id = given.block_id
