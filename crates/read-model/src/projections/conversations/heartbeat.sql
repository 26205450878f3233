WITH announced AS (
    INSERT INTO projector (holder, alive_until)
    VALUES ($1, now() + $2::bigint * interval '1 millisecond')
    ON CONFLICT (holder) DO UPDATE SET alive_until = excluded.alive_until
), forgotten AS (
    DELETE FROM projector WHERE alive_until < now() - interval '1 minute' AND holder <> $1
)
SELECT 1 + (SELECT count(*) FROM projector WHERE alive_until > now() AND holder <> $1) AS projectors,
       ARRAY(
           SELECT partition FROM checkpoint
           WHERE lease_until IS NULL OR lease_until < now()
           ORDER BY partition
       ) AS free
