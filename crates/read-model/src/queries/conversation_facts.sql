SELECT id,
       ($3::text IS NULL OR EXISTS (
           SELECT 1
           FROM (
               SELECT model FROM event
               WHERE tenant_id = $1 AND conversation_id = id
               ORDER BY version DESC
               LIMIT $5
           ) AS newest
           WHERE newest.model = $3
       )) AS has_model,
       ($4::text IS NULL OR EXISTS (
           SELECT 1
           FROM (
               SELECT tool_name FROM event
               WHERE tenant_id = $1 AND conversation_id = id AND kind = $7 AND kind <> 1
               ORDER BY version DESC
               LIMIT $5
           ) AS newest
           WHERE newest.tool_name = $4
       )) AS has_tool,
       (
           SELECT count(*)
           FROM (
               SELECT 1 FROM event
               WHERE tenant_id = $1 AND conversation_id = id AND kind = $8 AND kind <> 1
               LIMIT $5
           ) AS counted
       ) AS errors,
       ARRAY(
           SELECT body FROM event
           WHERE tenant_id = $1 AND conversation_id = id AND kind = $9 AND kind <> 1
           ORDER BY version DESC
           LIMIT $6
       ) AS run_ends
FROM unnest($2::text[]) AS id
