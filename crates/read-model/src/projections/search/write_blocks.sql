INSERT INTO block (block_id, first_at, last_at, partition, term_count, is_open, tenant_id)
SELECT block_id, '-infinity', 'infinity', partition, term_count, is_open, tenant_id
FROM unnest($1::bigint[], $2::integer[], $3::integer[], $4::boolean[], $5::text[])
    AS given (block_id, partition, term_count, is_open, tenant_id)
-- Every statement locks blocks in this order, which prevents deadlocks.
ORDER BY block_id
ON CONFLICT (block_id) DO UPDATE
SET term_count = excluded.term_count, is_open = excluded.is_open
