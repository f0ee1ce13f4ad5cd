-- What the columns mean: mysql/00030_settings_max_sessions.sql.

-- +goose Up
ALTER TABLE settings ADD COLUMN max_sessions INTEGER NOT NULL DEFAULT 1;
ALTER TABLE settings ADD COLUMN slots INTEGER NOT NULL DEFAULT 0;
ALTER TABLE settings ADD COLUMN reduced_to INTEGER NOT NULL DEFAULT 1;

-- +goose Down
ALTER TABLE settings DROP COLUMN reduced_to;
ALTER TABLE settings DROP COLUMN slots;
ALTER TABLE settings DROP COLUMN max_sessions;
