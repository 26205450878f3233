-- Additive: older programs do not read the table and the column.
-- Corrections of usage, each once. Those of model calls change `model_usage`; those of messages are added when usage is read, since
-- rebuilds count messages again.
CREATE TABLE hansard.usage_correction (
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cached_tokens bigint NOT NULL,
    reasoning_tokens bigint NOT NULL,
    day date NOT NULL,
    kind smallint NOT NULL, -- 1 model calls, 2 messages
    correction_id uuid NOT NULL,
    tenant_id text COLLATE "C" NOT NULL,
    agent_id text COLLATE "C" NOT NULL,
    model text COLLATE "C" NOT NULL, -- of messages; '' if they name none
    PRIMARY KEY (tenant_id, correction_id)
);

CREATE INDEX usage_correction_of_messages ON hansard.usage_correction (tenant_id, day) WHERE kind = 2;
CREATE INDEX usage_correction_by_day ON hansard.usage_correction (day);
ALTER TABLE hansard.usage_correction ALTER COLUMN model SET STATISTICS 0;

ALTER TABLE hansard.usage_correction ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON hansard.usage_correction FOR SELECT TO hansard_reader
    USING (tenant_id = current_setting('hansard.tenant', true));
GRANT SELECT ON hansard.usage_correction TO hansard_reader;

-- The number of corrections of a sum: a gateway that sees another number counts from the sum again.
ALTER TABLE hansard.model_usage ADD COLUMN corrections bigint NOT NULL DEFAULT 0;
