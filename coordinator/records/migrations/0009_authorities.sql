-- A token may want a certificate of another authority, which the config names; allowed is
-- a JSON list of the names that it takes, empty for all within its prefix.
ALTER TABLE tokens ADD COLUMN authority TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN allowed TEXT NOT NULL DEFAULT '[]';

-- By which certificate a member joined, and who issued that; both DER.
CREATE TABLE vouched (
    name        TEXT  PRIMARY KEY REFERENCES members (name),
    authority   TEXT  NOT NULL,
    certificate BYTEA NOT NULL,
    issuer      BYTEA NOT NULL
);
