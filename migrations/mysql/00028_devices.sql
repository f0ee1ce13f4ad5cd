-- What a client said of its device when the login device_token_id began. Both are NULL if
-- it said nothing. It holds for no other login. A release that does not know these columns
-- does not change them.

-- +goose Up
ALTER TABLE users ADD COLUMN device_token_id BIGINT NULL, ADD COLUMN device_class VARCHAR(32) NULL, ADD COLUMN device_name VARCHAR(64) NULL;

-- +goose Down
ALTER TABLE users DROP COLUMN device_token_id, DROP COLUMN device_class, DROP COLUMN device_name;
