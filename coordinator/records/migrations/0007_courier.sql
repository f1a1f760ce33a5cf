-- The private key of a study that carried answers are sealed to, while the study is not
-- over; signer is the coordinator's public key that names it.
CREATE TABLE seal_keys (
    study   BYTEA PRIMARY KEY REFERENCES studies (hash),
    private BYTEA NOT NULL,
    signer  BYTEA NOT NULL
);
-- What a receipt is encrypted under for a party whose answer was carried.
CREATE TABLE receipt_keys (
    study BYTEA NOT NULL REFERENCES studies (hash),
    party TEXT  NOT NULL,
    key   BYTEA NOT NULL,
    PRIMARY KEY (study, party)
);
