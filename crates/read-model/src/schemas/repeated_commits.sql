-- Conversations that have two commits with the same id.
CREATE TEMPORARY TABLE repeated ON COMMIT DROP AS
SELECT DISTINCT tenant_id, conversation_id
FROM event
WHERE commit_index = 0
GROUP BY tenant_id, conversation_id, commit_id
HAVING count(*) > 1
