SELECT schema.name, projection.live_schema
FROM hansard.schema AS schema
JOIN hansard.projection AS projection ON projection.name = schema.projection
WHERE projection.live_schema = current_schema()
  AND schema.phase = 'whole'
  AND schema.name <> projection.live_schema
ORDER BY schema.name
