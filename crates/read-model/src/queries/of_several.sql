SELECT found.sequence, found.recorded_at, found.recorded_nanos, found.head, found.commit_id, of_ids.ordinal
FROM unnest($2::text[]) WITH ORDINALITY AS of_ids (id, ordinal)
CROSS JOIN LATERAL (
{of_each}
) AS found
