INSERT INTO document (version, recorded_at, tenant_id, conversation_id, terms)
SELECT given.version, given.recorded_at, given.tenant_id, given.conversation_id,
       ($6::bigint[])[given.end_at - given.term_count + 1 : given.end_at]
FROM (
    SELECT *, sum(term_count) OVER (ORDER BY number)::integer AS end_at
    FROM unnest($1::bigint[], $2::timestamptz[], $3::text[], $4::text[], $5::integer[]) WITH ORDINALITY
        AS given (version, recorded_at, tenant_id, conversation_id, term_count, number)
) AS given
ORDER BY given.number
ON CONFLICT (conversation_id, tenant_id, version) DO UPDATE
SET recorded_at = excluded.recorded_at, terms = excluded.terms
WHERE (document.recorded_at, document.terms) IS DISTINCT FROM (excluded.recorded_at, excluded.terms)
