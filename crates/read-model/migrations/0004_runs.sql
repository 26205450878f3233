-- The generation under way, for whoever ends those that nobody makes any more. No row has one yet: records that are older
-- than this hold no runs.
ALTER TABLE conversations_v1.conversation ADD COLUMN active_run_id uuid;

CREATE INDEX conversation_by_active_run ON conversations_v1.conversation (tenant_id, conversation_id)
    WHERE active_run_id IS NOT NULL;
