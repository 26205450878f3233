SELECT NULL::bigint AS candidates, page.*
FROM (
    {page}
) AS page
WHERE $9::bigint IS NOT NULL
ORDER BY page.recorded_at DESC, page.conversation_id DESC, page.version DESC
