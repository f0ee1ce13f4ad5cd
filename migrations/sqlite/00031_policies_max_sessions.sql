-- What the column means: mysql/00031_policies_max_sessions.sql.

-- +goose Up
ALTER TABLE policies ADD COLUMN max_sessions INTEGER NOT NULL DEFAULT 1;

-- +goose Down
ALTER TABLE policies DROP COLUMN max_sessions;
