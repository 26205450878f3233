SELECT id,
       (
           SELECT CASE WHEN octet_length(body) <= $3 THEN body END
           FROM (
               SELECT version, role, body FROM event
               WHERE tenant_id = $1 AND conversation_id = id
               ORDER BY version
               LIMIT $4
           ) AS oldest
           WHERE role = $5
           ORDER BY version
           LIMIT 1
       ) AS first_input,
       (
           SELECT CASE WHEN octet_length(body) <= $3 THEN body END
           FROM (
               SELECT version, role, body FROM event
               WHERE tenant_id = $1 AND conversation_id = id
               ORDER BY version DESC
               LIMIT $4
           ) AS newest
           WHERE role = $6
           ORDER BY version DESC
           LIMIT 1
       ) AS last_output
FROM unnest($2::text[]) AS id
