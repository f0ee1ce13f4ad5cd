-- What the columns mean: mysql/00023_password_resets_issuer.sql.

-- +goose Up
ALTER TABLE password_resets ADD COLUMN issue_id INTEGER NULL;
ALTER TABLE password_resets ADD COLUMN issue_hash BLOB NULL
    CONSTRAINT password_resets_issue_hash_length CHECK (length(issue_hash) <= 32);
ALTER TABLE password_resets ADD COLUMN issued_by INTEGER NULL;
ALTER TABLE password_resets ADD COLUMN issuer TEXT NULL
    CONSTRAINT password_resets_issuer_length CHECK (length(issuer) <= 255);
ALTER TABLE password_resets ADD COLUMN issuer_changed_at INTEGER NULL;
ALTER TABLE password_resets ADD COLUMN all_ended_at INTEGER NULL;
CREATE INDEX password_resets_issue_id ON password_resets (issue_id);
CREATE INDEX password_resets_issued_by ON password_resets (issued_by, issue_id);

-- +goose Down
DROP INDEX password_resets_issued_by;
DROP INDEX password_resets_issue_id;
ALTER TABLE password_resets DROP COLUMN all_ended_at;
ALTER TABLE password_resets DROP COLUMN issuer_changed_at;
ALTER TABLE password_resets DROP COLUMN issuer;
ALTER TABLE password_resets DROP COLUMN issued_by;
ALTER TABLE password_resets DROP COLUMN issue_hash;
ALTER TABLE password_resets DROP COLUMN issue_id;
