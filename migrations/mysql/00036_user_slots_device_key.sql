-- As in users: see 00035_users_device_key.sql.

-- +goose Up
ALTER TABLE user_slots ADD COLUMN device_key VARBINARY(16) NULL;

-- +goose Down
ALTER TABLE user_slots DROP COLUMN device_key;
