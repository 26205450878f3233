-- Additive: older programs read these blocks as before.
-- Documents that were indexed again stayed in their blocks, but new blocks were written too, with filters of their terms. An erasure of
-- such documents does not reach these filters. Blocks without documents are deleted; the others get filters of their documents.
DELETE FROM search_v1.block
WHERE NOT is_open
  -- One probe of an index for each block: there are far more documents than blocks.
  AND (SELECT true FROM search_v1.document WHERE document.block_id = block.block_id LIMIT 1) IS NULL;

UPDATE search_v1.block
SET filter = NULL, first_at = '-infinity', last_at = 'infinity'
FROM (
    SELECT block_id
    FROM search_v1.block
    WHERE partition IS NULL AND NOT is_open AND filter IS NOT NULL
    -- Every statement locks blocks in this order, which prevents deadlocks.
    ORDER BY block_id
    FOR UPDATE
) AS indexed_again
WHERE block.block_id = indexed_again.block_id;
