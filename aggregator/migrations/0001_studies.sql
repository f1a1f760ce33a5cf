-- A record is JSON: what was agreed, and how far the study is.
CREATE TABLE studies (
    hash   BYTEA PRIMARY KEY,
    record BYTEA NOT NULL
);

-- A contribution is waiting (0), accepted (1) or refused (2). upload is there while it
-- waits at the coordinator, message from when it was prepared until the release.
CREATE TABLE contributions (
    study   BYTEA   NOT NULL REFERENCES studies (hash),
    party   TEXT    NOT NULL,
    digest  BYTEA   NOT NULL,
    weight  BIGINT  NOT NULL,
    verdict INTEGER NOT NULL,
    upload  BYTEA,
    message BYTEA,
    PRIMARY KEY (study, party)
);

CREATE INDEX contributions_by_verdict ON contributions (study, verdict, party);

-- The sum of this server's shares of what was accepted, until the release, and its SHA-256.
CREATE TABLE sums (
    study         BYTEA  PRIMARY KEY REFERENCES studies (hash),
    sum           BYTEA  NOT NULL,
    digest        BYTEA  NOT NULL,
    weight        BIGINT NOT NULL,
    contributions BIGINT NOT NULL
);

-- One row: how many transactions there were.
CREATE TABLE steps (n BIGINT NOT NULL);
INSERT INTO steps VALUES (0);
