DROP SCHEMA IF EXISTS hansard_bench CASCADE;
CREATE SCHEMA hansard_bench;
CREATE TABLE hansard_bench.event (LIKE conversations_v1.event INCLUDING ALL);
CREATE TABLE hansard_bench.conversation (
    version bigint NOT NULL,
    conversation_id text COLLATE "C" PRIMARY KEY
);
