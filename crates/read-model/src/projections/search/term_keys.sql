SELECT tenant_id, term_key FROM search_v1.tenant WHERE tenant_id = ANY ($1::text[])
