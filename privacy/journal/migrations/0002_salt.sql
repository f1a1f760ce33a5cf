-- salt hides what a vector was made from in request. Entries of before name no such
-- thing: theirs is zero, which hides nothing, and no hash is over it.
ALTER TABLE entries ADD COLUMN salt BYTEA NOT NULL DEFAULT x'0000000000000000000000000000000000000000000000000000000000000000';
