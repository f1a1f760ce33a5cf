-- What the operator said, when a study was created, that it is worth.
CREATE TABLE forecasts (
    study     BYTEA PRIMARY KEY REFERENCES studies (hash),
    document  BYTEA NOT NULL,
    signature BYTEA NOT NULL
);
