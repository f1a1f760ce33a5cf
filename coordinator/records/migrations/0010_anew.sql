-- Whom an operator invites under the name of a member that came by a token, and may not
-- call any more, came by no token. The place stays taken.
ALTER TABLE joined ADD COLUMN replaced BOOLEAN NOT NULL DEFAULT FALSE;
