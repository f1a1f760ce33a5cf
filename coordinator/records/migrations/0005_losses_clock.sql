-- Contributions of sealed studies whose stored bytes are not what was received.
-- Until the repair deadline, counted from noticed, the same bytes are taken again.
CREATE TABLE losses (
    study   BYTEA  NOT NULL REFERENCES studies (hash),
    party   TEXT   NOT NULL,
    noticed BIGINT NOT NULL,
    PRIMARY KEY (study, party)
);

-- The SHA-256 of a sum, so that a damaged one is not released.
ALTER TABLE sums ADD COLUMN digest BYTEA;

-- The last time that the coordinator knew and believed.
CREATE TABLE clock (
    one  BOOLEAN PRIMARY KEY CHECK (one),
    time BIGINT  NOT NULL
);
