-- What the column means: mysql/00035_users_device_key.sql.

-- +goose Up
ALTER TABLE users ADD COLUMN device_key BLOB NULL
    CONSTRAINT users_device_key_length CHECK (length(device_key) <= 16);

-- +goose Down
ALTER TABLE users DROP COLUMN device_key;
