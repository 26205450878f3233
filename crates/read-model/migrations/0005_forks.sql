-- What a conversation goes on from, for whoever must not erase that. No row has it yet: records that are older than this
-- hold no forks.
ALTER TABLE conversations_v1.conversation ADD COLUMN forked_from text COLLATE "C";

CREATE INDEX conversation_by_fork ON conversations_v1.conversation (tenant_id, forked_from)
    WHERE forked_from IS NOT NULL;
