-- What the column means: mysql/00036_user_slots_device_key.sql.

-- +goose Up
ALTER TABLE user_slots ADD COLUMN device_key BLOB NULL
    CONSTRAINT user_slots_device_key_length CHECK (length(device_key) <= 16);

-- +goose Down
ALTER TABLE user_slots DROP COLUMN device_key;
