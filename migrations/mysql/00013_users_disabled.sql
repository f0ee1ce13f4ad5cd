-- The disabled are counted without a walk over everybody.

-- +goose Up
ALTER TABLE users ADD KEY users_disabled_at (disabled_at);

-- +goose Down
ALTER TABLE users DROP KEY users_disabled_at;
