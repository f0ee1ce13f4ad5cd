-- The time of the last proof of password and code, by the database's clock, and the
-- login of that proof. It holds for no other login than token_id. A release that
-- does not know these columns does not change them.

-- +goose Up
ALTER TABLE users ADD COLUMN token_proved_id BIGINT NULL, ADD COLUMN token_proved_at BIGINT NULL;

-- +goose Down
ALTER TABLE users DROP COLUMN token_proved_id, DROP COLUMN token_proved_at;
