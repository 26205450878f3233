-- 40,000 conversations of four tenants, each of two agents, with hundreds of sessions, users and channels; four events each; and a
-- year's usage of 300 agents and their models, and of 40,000 owners; and as many logged calls as conversations; and
-- what 4,000 agents store in each of eight partitions.
INSERT INTO conversations_v1.conversation (
    version, sequence, created_at, last_event_at, partition, created_nanos, status,
    tenant_id, conversation_id, agent_id, user_id, session_id, channel_id, head, forked_from
)
SELECT 4, n, now(), now() - n * interval '1 minute', 0, 0, 1 + n / 32 % 2, 't' || n % 4, 'c' || n, 'a' || n % 8,
       CASE WHEN n % 16 < 8 THEN 'u' || n % 800 END, CASE WHEN n % 16 >= 8 AND n % 5 > 0 THEN 's' || n % 800 END,
       CASE WHEN n % 16 >= 8 AND n % 5 = 0 THEN 'h' || n % 800 END, 'head',
       CASE WHEN n % 10 = 0 THEN 'c' || n - 4 END
FROM generate_series(1, 40000) AS n;

INSERT INTO conversations_v1.event (
    version, recorded_at, commit_id, recorded_nanos, commit_index, kind, tenant_id, conversation_id, body
)
SELECT nth, now(), gen_random_uuid(), 0, 0, 1 + nth / 4, tenant_id, conversation_id, 'body'
FROM conversations_v1.conversation, generate_series(1, 4) AS nth;

INSERT INTO conversations_v1.usage_day (
    messages, input_tokens, output_tokens, cached_tokens, reasoning_tokens, day, tenant_id, agent_id, model
)
SELECT 1, 1, 1, 1, 1, current_date - day, 't' || agent % 4, 'a' || agent, 'm'
FROM generate_series(1, 300) AS agent, generate_series(1, 365) AS day;

INSERT INTO conversations_v1.run_day (runs, day, outcome, tenant_id, agent_id)
SELECT 1, current_date - day, outcome, 't' || agent % 4, 'a' || agent
FROM generate_series(1, 300) AS agent, generate_series(1, 365) AS day, generate_series(1, 4) AS outcome;

INSERT INTO hansard.provider_log (
    started_at, kept_until, took_ms, request_bytes, reply_bytes, attempt, log_id, run_id, purpose, tenant_id,
    conversation_id, agent_id, model_server, model, outcome
)
SELECT now() - n * interval '1 minute', now(), 1, 1, 1, 1, gen_random_uuid(), gen_random_uuid(), 1, 't' || n % 4,
       'c' || n, 'a' || n % 8, 's', 'm', 'o' || n % 3
FROM generate_series(1, 40000) AS n;

INSERT INTO hansard.model_usage (calls, input_tokens, output_tokens, day, scope, tenant_id, name)
SELECT 1, 1, 1, current_date - day, 2, 't' || agent % 4, 'a' || agent
FROM generate_series(1, 300) AS agent, generate_series(0, 365) AS day
UNION ALL
SELECT 1, 1, 1, current_date, 4, 't' || n % 4, 'o' || n FROM generate_series(1, 40000) AS n;

INSERT INTO hansard.usage_correction (
    input_tokens, output_tokens, cached_tokens, reasoning_tokens, day, kind, correction_id, tenant_id, agent_id, model
)
SELECT 1, 1, 1, 1, current_date - n % 400, 1 + n % 2, gen_random_uuid(), 't' || n % 4, 'a' || n % 300, 'm'
FROM generate_series(1, 4000) AS n;

INSERT INTO conversations_v1.storage (conversations, stored_bytes, partition, tenant_id, agent_id)
SELECT 1, 1, 8 + partition, 't' || agent % 4, 'a' || agent
FROM generate_series(1, 4000) AS agent, generate_series(1, 8) AS partition;

INSERT INTO conversations_v1.document (
    version, created_at, updated_at, expires_at, tenant_id, conversation_id, agent_id, owner, namespace, key, value_json
)
SELECT 2, now(), now() - n * interval '1 minute', CASE WHEN n % 10 = 0 THEN now() + n * interval '1 minute' END,
       't' || n % 4, 'c' || n, 'a' || n % 8, 'user:u' || n % 800, 'n' || n % 100 || E'\u0001', 'k' || n, '{}'
FROM generate_series(1, 40000) AS n;
