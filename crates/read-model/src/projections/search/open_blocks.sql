SELECT given.number - 1 AS owner_index, block.block_id, block.term_count
FROM unnest($1::text[], $2::integer[]) WITH ORDINALITY AS given (tenant_id, partition, number)
JOIN block ON block.tenant_id = given.tenant_id AND block.partition = given.partition AND block.is_open
