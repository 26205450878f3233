DROP SCHEMA IF EXISTS hansard_bench CASCADE;
CREATE SCHEMA hansard_bench;
CREATE TABLE hansard_bench.event (LIKE conversations_v1.event INCLUDING ALL);
CREATE TABLE hansard_bench.conversation (LIKE conversations_v1.conversation INCLUDING ALL);
INSERT INTO hansard_bench.conversation SELECT * FROM conversations_v1.conversation;
