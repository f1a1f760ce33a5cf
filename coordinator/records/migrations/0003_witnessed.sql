-- What callers showed of this coordinator's own that its ledger lacks: proof that
-- it was put back to an older state. kind is the document's, number and hash are
-- those of the head that it tells.
CREATE TABLE witnessed (
    hash      BYTEA  PRIMARY KEY,
    sequence  BIGINT NOT NULL,
    kind      TEXT   NOT NULL,
    document  BYTEA  NOT NULL,
    signature BYTEA  NOT NULL,
    shown_by  TEXT   NOT NULL,
    shown     BIGINT NOT NULL
);
