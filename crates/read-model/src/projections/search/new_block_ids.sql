SELECT nextval('search_v1.block_id') FROM generate_series(1, $1::bigint)
