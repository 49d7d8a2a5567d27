-- The answers that are being written now. Hearsay, which nothing but viewers reads: not logged, so it is empty after a
-- crash of the server, and no replica has it.
CREATE UNLOGGED TABLE live_parts (
  no BIGINT PRIMARY KEY,
  run_id TEXT COLLATE "C" NOT NULL,
  step TEXT NOT NULL,
  turn BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  epoch BIGINT NOT NULL,
  row_index BIGINT NOT NULL,
  at BIGINT NOT NULL,
  parts TEXT NOT NULL
);

CREATE INDEX live_parts_of_run ON live_parts (run_id, no);
CREATE INDEX live_parts_by_age ON live_parts (at);

-- Of its own, and logged: one that belongs to the table would begin again after a crash, and viewers would wait for numbers
-- that they have passed.
CREATE SEQUENCE live_parts_no;

-- The runs that somebody watches, and until when: the answers of the others are not streamed.
CREATE UNLOGGED TABLE live_viewers (
  run_id TEXT COLLATE "C" PRIMARY KEY,
  until BIGINT NOT NULL
);
