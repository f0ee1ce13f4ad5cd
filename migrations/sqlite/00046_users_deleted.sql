-- What the columns mean: mysql/00046_users_deleted.sql.

-- +goose Up
ALTER TABLE users ADD COLUMN deleted_at INTEGER NULL;
ALTER TABLE users ADD COLUMN deletion_asked_at INTEGER NULL;
ALTER TABLE users ADD COLUMN deletion_asked_login INTEGER NULL;

-- +goose Down
ALTER TABLE users DROP COLUMN deletion_asked_login;
ALTER TABLE users DROP COLUMN deletion_asked_at;
ALTER TABLE users DROP COLUMN deleted_at;
