-- The schemas that a projection has: the live one, which `hansard.projection` points to, one that is being built beside
-- it, and those that were live before and are kept for a way back. `phase` is how far one is made: 'copying', 'indexing',
-- 'following' or 'whole'.
CREATE TABLE hansard.schema (
    made_at timestamptz NOT NULL,
    left_at timestamptz, -- when readers were last sent elsewhere
    name text COLLATE "C" PRIMARY KEY,
    projection text COLLATE "C" NOT NULL REFERENCES hansard.projection (name),
    phase text COLLATE "C" NOT NULL CHECK (phase IN ('copying', 'indexing', 'following', 'whole'))
);

INSERT INTO hansard.schema (made_at, name, projection, phase)
SELECT now(), live_schema, name, 'whole' FROM hansard.projection;
