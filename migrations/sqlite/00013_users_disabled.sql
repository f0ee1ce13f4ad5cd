-- Why: mysql/00013_users_disabled.sql. Only the disabled are in this index.

-- +goose Up
CREATE INDEX users_disabled_at ON users (disabled_at) WHERE disabled_at IS NOT NULL;

-- +goose Down
DROP INDEX users_disabled_at;
