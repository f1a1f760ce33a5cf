-- One row an entry of the ledger. BYTEA and BIGINT mean the same to SQLite and
-- PostgreSQL: bytes are stored as they are, numbers in 64 bits.
CREATE TABLE entries (
    sequence BIGINT PRIMARY KEY,
    id       TEXT   NOT NULL UNIQUE,
    kind     TEXT   NOT NULL,
    request  BYTEA  NOT NULL,
    body     BYTEA  NOT NULL,
    totals   BYTEA  NOT NULL,
    prev     BYTEA  NOT NULL UNIQUE, -- one entry follows another: the chain cannot fork
    hash     BYTEA  NOT NULL UNIQUE
);
