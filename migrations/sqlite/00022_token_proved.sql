-- What the columns mean: mysql/00022_token_proved.sql.

-- +goose Up
ALTER TABLE users ADD COLUMN token_proved_id INTEGER NULL;
ALTER TABLE users ADD COLUMN token_proved_at INTEGER NULL;

-- +goose Down
ALTER TABLE users DROP COLUMN token_proved_at;
ALTER TABLE users DROP COLUMN token_proved_id;
