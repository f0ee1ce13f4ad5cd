-- Disabled users are counted without reading all users.

-- +goose Up
ALTER TABLE users ADD KEY users_disabled_at (disabled_at);

-- +goose Down
ALTER TABLE users DROP KEY users_disabled_at;
