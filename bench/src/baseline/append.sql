WITH advanced AS (
    UPDATE hansard_bench.conversation
    SET version = version + $4
    WHERE conversation_id = $1 AND version = $2
    RETURNING version
)
INSERT INTO hansard_bench.event (
    version, recorded_at, sequence, commit_id, recorded_nanos, commit_index, event_count, kind, role,
    tenant_id, conversation_id, body
)
SELECT $2 + 1 + place, now(), $2 + 1, $3, 0, place::smallint, $4::smallint, 1, 1, 'bench', $1, $5
FROM advanced, generate_series(0, $4 - 1) AS place
