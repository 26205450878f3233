SELECT document.conversation_id, document.namespace, document.key, document.version, document.created_at,
       document.updated_at, document.expires_at, document.value_json
FROM document
WHERE document.tenant_id = $1 AND document.agent_id = $2 AND {scope} = $3
  AND document.namespace >= $4 AND document.namespace < $5
  AND (document.expires_at IS NULL OR document.expires_at > $6)
  AND NOT EXISTS (
      SELECT FROM jsonb_to_recordset($7::jsonb) AS condition (path text[], operator text, operand text)
      CROSS JOIN LATERAL (
          SELECT coalesce(document.value_json::jsonb #> condition.path, 'null') AS found,
                 condition.operand::jsonb AS wanted
      ) AS compared
      WHERE NOT CASE condition.operator
          WHEN 'eq' THEN found = wanted
          WHEN 'ne' THEN found <> wanted
          WHEN 'object' THEN jsonb_typeof(found) = 'object'
          ELSE jsonb_typeof(found) = jsonb_typeof(wanted) AND CASE jsonb_typeof(found)
              WHEN 'number' THEN CASE condition.operator
                  WHEN 'gt' THEN found > wanted
                  WHEN 'gte' THEN found >= wanted
                  WHEN 'lt' THEN found < wanted
                  ELSE found <= wanted
              END
              WHEN 'string' THEN CASE condition.operator
                  WHEN 'gt' THEN (found #>> '{}') COLLATE "C" > (wanted #>> '{}') COLLATE "C"
                  WHEN 'gte' THEN (found #>> '{}') COLLATE "C" >= (wanted #>> '{}') COLLATE "C"
                  WHEN 'lt' THEN (found #>> '{}') COLLATE "C" < (wanted #>> '{}') COLLATE "C"
                  ELSE (found #>> '{}') COLLATE "C" <= (wanted #>> '{}') COLLATE "C"
              END
              ELSE false
          END
      END
  )
ORDER BY document.updated_at DESC, document.conversation_id DESC, document.namespace DESC, document.key DESC
LIMIT $8 OFFSET $9
