-- What callers showed of this coordinator's own that its ledger lacks: proof that
-- it was put back to an older state. kind is the document's; the head is the one
-- it tells, or number -1 where it is a succession of signing keys.
CREATE TABLE witnessed (
    hash      BYTEA  PRIMARY KEY,
    sequence  BIGINT NOT NULL,
    kind      TEXT   NOT NULL,
    document  BYTEA  NOT NULL,
    signature BYTEA  NOT NULL,
    shown_by  TEXT   NOT NULL,
    shown     BIGINT NOT NULL
);
