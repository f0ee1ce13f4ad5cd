-- What the columns mean: mysql/00028_devices.sql.

-- +goose Up
ALTER TABLE users ADD COLUMN device_token_id INTEGER NULL;
ALTER TABLE users ADD COLUMN device_class TEXT NULL;
ALTER TABLE users ADD COLUMN device_name TEXT NULL;

-- +goose Down
ALTER TABLE users DROP COLUMN device_name;
ALTER TABLE users DROP COLUMN device_class;
ALTER TABLE users DROP COLUMN device_token_id;
