-- When whoever has the login last showed password and code, by the database's
-- clock, and which login that was: of another login than token_id it says nothing,
-- and a release that does not know these columns leaves them as they are.

-- +goose Up
ALTER TABLE users ADD COLUMN token_proved_id BIGINT NULL, ADD COLUMN token_proved_at BIGINT NULL;

-- +goose Down
ALTER TABLE users DROP COLUMN token_proved_id, DROP COLUMN token_proved_at;
