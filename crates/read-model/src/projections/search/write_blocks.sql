INSERT INTO block (block_id, first_at, last_at, partition, term_count, is_open, tenant_id, filter)
SELECT block_id, first_at, last_at, partition, term_count, is_open, tenant_id, filter
FROM unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[], $4::integer[], $5::integer[], $6::boolean[], $7::text[], $8::bytea[])
    AS given (block_id, first_at, last_at, partition, term_count, is_open, tenant_id, filter)
-- Every statement locks blocks in this order, which prevents deadlocks.
ORDER BY block_id
ON CONFLICT (block_id) DO UPDATE
SET term_count = excluded.term_count, is_open = excluded.is_open
