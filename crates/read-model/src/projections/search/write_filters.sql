UPDATE block
SET first_at = given.first_at, last_at = given.last_at, filter = given.filter
FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::bytea[]) AS given (block_id, first_at, last_at, filter)
WHERE block.block_id = given.block_id
