-- What the column means: mysql/00032_instances_slots.sql.

-- +goose Up
ALTER TABLE instances ADD COLUMN slots INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE instances DROP COLUMN slots;
