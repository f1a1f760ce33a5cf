-- BYTEA, BIGINT and BOOLEAN mean the same to SQLite and PostgreSQL. Times are
-- Unix milliseconds.
CREATE TABLE members (
    name TEXT PRIMARY KEY,
    role TEXT NOT NULL
);

-- An invitation is known by the serial of its certificate. signing_key is the
-- digest of the key that redeemed it, certificate what it got.
CREATE TABLE invitations (
    serial      TEXT   PRIMARY KEY,
    name        TEXT   NOT NULL REFERENCES members (name),
    expires     BIGINT NOT NULL,
    revoked     BOOLEAN NOT NULL DEFAULT FALSE,
    signing_key BYTEA,
    certificate BYTEA
);
CREATE INDEX invitations_by_name ON invitations (name);

CREATE TABLE certificates (
    serial  TEXT   PRIMARY KEY,
    name    TEXT   NOT NULL REFERENCES members (name),
    expires BIGINT NOT NULL,
    revoked BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE INDEX certificates_by_name ON certificates (name);

-- A pool lies in parts of at most 256 KiB.
CREATE TABLE pools (
    digest BYTEA  PRIMARY KEY,
    size   BIGINT NOT NULL
);
CREATE TABLE pool_parts (
    digest BYTEA  NOT NULL REFERENCES pools (digest),
    start  BIGINT NOT NULL,
    data   BYTEA  NOT NULL,
    PRIMARY KEY (digest, start)
);

CREATE TABLE studies (
    hash      BYTEA  PRIMARY KEY,
    name      TEXT   NOT NULL UNIQUE,
    plan      BYTEA  NOT NULL,
    signature BYTEA  NOT NULL,
    created   BIGINT NOT NULL,
    state     TEXT   NOT NULL,
    reason    TEXT   NOT NULL
);

-- A row is a receipt; body is NULL once it is in the sum or the study is over.
CREATE TABLE contributions (
    study     BYTEA NOT NULL REFERENCES studies (hash),
    party     TEXT  NOT NULL,
    digest    BYTEA NOT NULL,
    receipt   BYTEA NOT NULL,
    signature BYTEA NOT NULL,
    body      BYTEA,
    PRIMARY KEY (study, party)
);
CREATE INDEX contributions_to_fold ON contributions (study) WHERE body IS NOT NULL;

CREATE TABLE sums (
    study         BYTEA  PRIMARY KEY REFERENCES studies (hash),
    contributions BIGINT NOT NULL,
    sum           BYTEA  NOT NULL
);

-- ledger_entry is the number of the ledger's last entry when this was stored.
CREATE TABLE releases (
    study        BYTEA  PRIMARY KEY REFERENCES studies (hash),
    document     BYTEA  NOT NULL,
    signature    BYTEA  NOT NULL,
    ledger_entry BIGINT NOT NULL
);
