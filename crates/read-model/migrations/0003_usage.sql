-- What models were paid for, by the UTC day on which their messages were recorded. Erasing a conversation takes nothing
-- away here: what is left of it is a number. A model that its message does not name is ''.
CREATE TABLE conversations_v1.usage_day (
    messages bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    day date NOT NULL,
    tenant_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, agent_id, day, model)
)
-- Today's few rows are changed by every batch, in place.
WITH (fillfactor = 50);

CREATE INDEX usage_day_of_tenant ON conversations_v1.usage_day
    (tenant_id, day, agent_id, model);

ALTER TABLE conversations_v1.usage_day ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON conversations_v1.usage_day FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
GRANT SELECT ON conversations_v1.usage_day TO hansard_reader;

-- What is projected already is counted here, and what comes counts itself: no projector may move in between. Rows of
-- events do not tell reasoning tokens, which are among the output tokens.
LOCK TABLE conversations_v1.checkpoint IN SHARE MODE;

INSERT INTO conversations_v1.usage_day (
    messages, input_tokens, output_tokens, cached_tokens, reasoning_tokens, day, tenant_id, agent_id, model
)
SELECT count(*),
       least(sum(event.input_tokens), 9223372036854775807)::bigint,
       least(sum(event.output_tokens), 9223372036854775807)::bigint,
       least(sum(event.cached_tokens), 9223372036854775807)::bigint,
       0,
       (event.recorded_at AT TIME ZONE 'UTC')::date AS day,
       event.tenant_id, conversation.agent_id, coalesce(event.model, '') AS model
FROM conversations_v1.event
JOIN conversations_v1.conversation USING (tenant_id, conversation_id)
WHERE event.kind = 1 AND event.role = 2 AND event.input_tokens IS NOT NULL
GROUP BY event.tenant_id, conversation.agent_id, (event.recorded_at AT TIME ZONE 'UTC')::date, coalesce(event.model, '');
