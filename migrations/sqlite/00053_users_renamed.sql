-- What the columns mean: mysql/00053_users_renamed.sql.

-- +goose Up
ALTER TABLE users ADD COLUMN renamed_at INTEGER NULL;
ALTER TABLE users ADD COLUMN counted_by_id INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE users DROP COLUMN counted_by_id;
ALTER TABLE users DROP COLUMN renamed_at;
