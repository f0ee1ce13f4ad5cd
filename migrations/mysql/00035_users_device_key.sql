-- The beginning of the SHA-256 of what an app has said identifies its device; NULL if it
-- has said nothing. It is only compared with that of the user's other logins.

-- +goose Up
ALTER TABLE users ADD COLUMN device_key VARBINARY(16) NULL;

-- +goose Down
ALTER TABLE users DROP COLUMN device_key;
