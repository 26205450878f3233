SELECT count(*)
FROM unnest($1::text[], $2::text[]) AS wanted (tenant_id, conversation_id)
WHERE NOT EXISTS (
    SELECT 1 FROM conversation AS row
    WHERE row.tenant_id = wanted.tenant_id AND row.conversation_id = wanted.conversation_id AND row.status = 3
) OR EXISTS (
    SELECT 1 FROM event AS row
    WHERE row.tenant_id = wanted.tenant_id AND row.conversation_id = wanted.conversation_id
) OR EXISTS (
    SELECT 1 FROM document AS row
    WHERE row.tenant_id = wanted.tenant_id AND row.conversation_id = wanted.conversation_id
) OR EXISTS (
    SELECT 1 FROM parked_conversation AS row
    WHERE row.tenant_id = wanted.tenant_id AND row.conversation_id = wanted.conversation_id
) OR EXISTS (
    SELECT 1 FROM parked_commit AS row
    WHERE row.tenant_id = wanted.tenant_id AND row.conversation_id = wanted.conversation_id
) OR EXISTS (
    SELECT 1 FROM hansard.provider_log AS row
    WHERE row.tenant_id = wanted.tenant_id AND row.conversation_id = wanted.conversation_id
) OR EXISTS (
    SELECT 1 FROM search_v1.document AS row
    WHERE row.tenant_id = wanted.tenant_id AND row.conversation_id = wanted.conversation_id
)
