WITH namespaces AS (
    SELECT DISTINCT string_to_array(rtrim(document.namespace, E'\u0001'), E'\u0001') AS labels
    FROM document
    WHERE document.tenant_id = $1 AND document.agent_id = $2 AND {scope} = $3
      AND (document.expires_at IS NULL OR document.expires_at > $4)
)
SELECT DISTINCT (array_to_string(labels[1:$7::integer], E'\u0001') || E'\u0001') COLLATE "C" AS namespace
FROM namespaces
WHERE cardinality(labels) >= greatest(cardinality($5::text[]), cardinality($6::text[]))
  AND NOT EXISTS (
      SELECT FROM unnest($5::text[]) WITH ORDINALITY AS wanted (label, place)
      WHERE wanted.label <> labels[wanted.place]
  )
  AND NOT EXISTS (
      SELECT FROM unnest($6::text[]) WITH ORDINALITY AS wanted (label, place)
      WHERE wanted.label <> labels[cardinality(labels) - cardinality($6::text[]) + wanted.place]
  )
ORDER BY namespace
LIMIT $8 OFFSET $9
