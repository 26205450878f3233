SELECT greatest(reltuples, 0)::bigint AS documents,
       pg_table_size(oid) AS documents_bytes,
       pg_indexes_size(oid) AS index_bytes
FROM pg_class
WHERE oid = 'search_v1.document'::regclass
