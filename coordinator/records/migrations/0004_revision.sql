-- How many revocations there were: what is remembered of certificates is good
-- while it is the same.
CREATE TABLE revision (
    revocations BIGINT NOT NULL
);
INSERT INTO revision VALUES (0);
