-- Amendments of a plan: when its study ends. Each names the bytes before it.
CREATE TABLE amendments (
    study     BYTEA  NOT NULL REFERENCES studies (hash),
    number    BIGINT NOT NULL,
    document  BYTEA  NOT NULL,
    signature BYTEA  NOT NULL,
    PRIMARY KEY (study, number)
);
