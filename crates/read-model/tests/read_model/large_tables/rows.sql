-- The events at ticks $1 to $2 of the conversations from $4 and before $5: 20 of each, 500 ticks apart, so that 10,000 conversations are active at a time. Every
-- event has the body $3, every second begins a commit, two of five are a call and its result. Ids grow with time, as those of
-- applications. Retention erases the oldest conversations of every second tenant.
INSERT INTO event (
    version, recorded_at, sequence, commit_id, recorded_nanos, commit_index, event_count, kind, role,
    tenant_id, conversation_id, request_digest, body
)
SELECT nth, '2026-01-01'::timestamptz + tick * interval '10 ms', CASE WHEN nth % 2 = 1 THEN tick * 20 + nth END,
       uuidv7(), 0, (nth - 1) % 2, CASE WHEN nth % 2 = 1 THEN 2 END,
       CASE nth % 5 WHEN 3 THEN 2 WHEN 4 THEN 3 ELSE 1 END, 1 + nth % 2,
       't' || number % 20, 'c' || lpad(to_hex(number), 8, '0') || '-' || md5(number::text),
       CASE WHEN nth % 2 = 1 THEN decode(md5(tick::text), 'hex') END, $3::bytea
FROM generate_series($1::bigint, $2::bigint) AS tick
CROSS JOIN generate_series(1, 20) AS nth
CROSS JOIN LATERAL (SELECT tick - nth * 500 AS number) AS conversation
WHERE number >= $4 AND number < $5
