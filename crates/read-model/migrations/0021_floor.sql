-- `floor` is the lowest migration that a program must know to use a database with this migration; the greatest value applies. Programs
-- that do not know this migration reject every later one, so it is the first floor. A later migration that programs without it cannot
-- work with ends with
--     ALTER TABLE hansard.migration ALTER COLUMN floor SET DEFAULT 22;
-- and its own number. Its row is inserted after that, in the same transaction.
ALTER TABLE hansard.migration ADD COLUMN floor bigint NOT NULL DEFAULT 21;
