-- Conversations without their first commit or with missing versions. A tombstone needs no earlier commits.
CREATE TEMPORARY TABLE incomplete ON COMMIT DROP AS
SELECT DISTINCT tenant_id, conversation_id, partition
FROM (
    SELECT tenant_id, conversation_id, partition, first_version, created_at,
           lag(version) OVER (PARTITION BY tenant_id, conversation_id ORDER BY version) AS before
    FROM conversation_change
) AS change
WHERE CASE WHEN before IS NULL THEN created_at IS NULL ELSE first_version <> before + 1 END
  AND NOT EXISTS (
      SELECT FROM conversation_change AS tombstone
      WHERE tombstone.tenant_id = change.tenant_id AND tombstone.conversation_id = change.conversation_id
        AND tombstone.status = 3
  )
