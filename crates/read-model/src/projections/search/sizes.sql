SELECT greatest(max(reltuples) FILTER (WHERE relname = 'document'), 0)::bigint AS documents,
       sum(pg_table_size(oid)) FILTER (WHERE relname = 'document')::bigint AS documents_bytes,
       sum(CASE relname WHEN 'document' THEN pg_indexes_size(oid) ELSE pg_total_relation_size(oid) END)::bigint AS index_bytes
FROM pg_class
WHERE oid IN ('search_v1.document'::regclass, 'search_v1.block'::regclass)
