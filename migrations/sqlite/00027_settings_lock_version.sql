-- What the column means: mysql/00027_settings_lock_version.sql. SQLite has one lock for all.

-- +goose Up
ALTER TABLE settings ADD COLUMN lock_version INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE settings DROP COLUMN lock_version;
