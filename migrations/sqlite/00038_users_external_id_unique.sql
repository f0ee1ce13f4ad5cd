-- No two users have the same external ID.

-- +goose Up
CREATE UNIQUE INDEX users_external_id ON users (external_id);

-- +goose Down
DROP INDEX users_external_id;
