-- Additive: older programs write checkpoints without these columns, whose commit stays a commit of the same record.
-- The prefix of a partition that the rows contain: its record, and its last commit with the hash chain of that commit's conversation.
-- NULL: unknown, or no commit yet.
DO $$
DECLARE place text;
BEGIN
    FOR place IN
        SELECT name FROM hansard.schema
        UNION ALL
        SELECT 'search_v1'
    LOOP
        EXECUTE format(
            'ALTER TABLE %I.checkpoint
                 ADD COLUMN commit_sequence bigint,
                 ADD COLUMN commit_id uuid,
                 ADD COLUMN record_id bytea,
                 ADD COLUMN chain bytea', place);
    END LOOP;
END
$$;
