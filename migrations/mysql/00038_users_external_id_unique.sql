-- No two users have the same external ID.

-- +goose Up
ALTER TABLE users ADD UNIQUE KEY users_external_id (external_id);

-- +goose Down
ALTER TABLE users DROP KEY users_external_id;
