{insert}
ON CONFLICT (tenant_id, conversation_id, namespace, key) DO UPDATE
SET version = excluded.version,
    created_at = CASE WHEN document.expires_at <= excluded.created_at THEN excluded.created_at
                      ELSE document.created_at END,
    updated_at = excluded.updated_at,
    expires_at = excluded.expires_at,
    agent_id = excluded.agent_id,
    owner = excluded.owner,
    value_json = excluded.value_json
WHERE document.version < excluded.version
