-- Why: mysql/00017_users_idle.sql.

-- +goose Up
CREATE INDEX users_idle ON users (token_seen_at, id, token_id);
DROP INDEX users_token_seen_at;

-- +goose Down
CREATE INDEX users_token_seen_at ON users (token_seen_at);
DROP INDEX users_idle;
