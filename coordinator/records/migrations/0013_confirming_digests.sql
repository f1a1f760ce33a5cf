-- The digest of exact numbers confirms a guess of them. Plans of before have no commitment in
-- front of these numbers, so digests and receipts of studies that are over are blanked where
-- the coordinator adds the noise. SQLite casts the plan to its text, PostgreSQL to its bytes in
-- hexadecimal digits: the second pattern is the first one's.
UPDATE contributions
SET digest = x'0000000000000000000000000000000000000000000000000000000000000000', receipt = x'', signature = x''
WHERE study IN (SELECT hash FROM studies WHERE state IN ('released', 'failed')
    AND (CAST(plan AS TEXT) LIKE '%"noise":"coordinator"%' OR CAST(plan AS TEXT) LIKE '%226e6f697365223a22636f6f7264696e61746f7222%'));
