-- Each poll asks who was renamed of late.

-- +goose Up
CREATE INDEX users_renamed_at ON users (renamed_at) WHERE renamed_at IS NOT NULL;

-- +goose Down
DROP INDEX users_renamed_at;
