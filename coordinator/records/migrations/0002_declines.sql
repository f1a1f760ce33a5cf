-- Who said that it takes no part. It binds nobody: a contribution counts.
CREATE TABLE declines (
    study BYTEA NOT NULL REFERENCES studies (hash),
    party TEXT  NOT NULL,
    PRIMARY KEY (study, party)
);
