SELECT schema.name, schema.name = projection.live_schema AS is_live, schema.phase, schema.made_at, schema.left_at,
       coalesce((
           SELECT sum(pg_total_relation_size(class.oid))
           FROM pg_class AS class
           WHERE class.relkind = 'r' AND class.relnamespace = to_regnamespace(quote_ident(schema.name))
       ), 0)::bigint AS bytes
FROM hansard.schema AS schema
JOIN hansard.projection AS projection ON projection.name = schema.projection
WHERE schema.projection = 'conversations'
ORDER BY schema.made_at, schema.name
