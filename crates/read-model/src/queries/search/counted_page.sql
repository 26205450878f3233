SELECT total.candidates, page.*
FROM (SELECT count(*) AS candidates FROM candidates) AS total
LEFT JOIN LATERAL (
    {page}
) AS page ON true
ORDER BY page.recorded_at DESC, page.conversation_id DESC, page.version DESC
