SELECT tenant_id, conversation_id, head FROM hansard.active_runs($1, $2, $3)
