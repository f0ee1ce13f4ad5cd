-- Why: mysql/00047_users_deletions.sql. Only such accounts are in these indexes.

-- +goose Up
CREATE INDEX users_deleted_at ON users (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX users_deletion_asked_at ON users (deletion_asked_at) WHERE deletion_asked_at IS NOT NULL;

-- +goose Down
DROP INDEX users_deletion_asked_at;
DROP INDEX users_deleted_at;
