-- What the column means: mysql/00026_users_lock_version.sql. SQLite has one lock for all.

-- +goose Up
ALTER TABLE users ADD COLUMN lock_version INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE users DROP COLUMN lock_version;
