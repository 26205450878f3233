SELECT term_key FROM search_v1.tenant WHERE tenant_id = $1
