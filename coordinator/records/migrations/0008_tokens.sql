-- What operators say that a party is one of, a JSON object of texts.
ALTER TABLE members ADD COLUMN labels TEXT NOT NULL DEFAULT '{}';

-- A join token is known by the serial of its certificate; nothing else of it is kept,
-- and nothing from which it could be made again.
CREATE TABLE tokens (
    id      TEXT   PRIMARY KEY,
    serial  TEXT   NOT NULL UNIQUE,
    prefix  TEXT   NOT NULL,
    labels  TEXT   NOT NULL,
    quota   BIGINT NOT NULL,
    created BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    made_by TEXT   NOT NULL,
    revoked BOOLEAN NOT NULL DEFAULT FALSE
);

-- Each row is a place of a token's quota: signing_key is the digest of the key that took
-- it, certificate what it got.
CREATE TABLE joined (
    token       TEXT  NOT NULL REFERENCES tokens (id),
    signing_key BYTEA NOT NULL,
    name        TEXT  NOT NULL UNIQUE REFERENCES members (name),
    certificate BYTEA NOT NULL,
    PRIMARY KEY (token, signing_key)
);
