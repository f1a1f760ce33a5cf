-- Other authorities' certificates admit nobody any more. What a token of theirs promised, that
-- it alone makes nobody a party, and what their lists would revoke, nobody checks now: so these
-- tokens end, and so do the members that came by such a certificate. An operator invites them.
UPDATE tokens SET revoked = TRUE WHERE authority <> '';
UPDATE certificates SET revoked = TRUE WHERE name IN (SELECT name FROM vouched);
UPDATE revision SET revocations = revocations + 1;
DROP TABLE vouched;
ALTER TABLE tokens DROP COLUMN authority;
ALTER TABLE tokens DROP COLUMN allowed;
