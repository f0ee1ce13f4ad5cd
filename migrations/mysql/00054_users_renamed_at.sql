-- Each poll asks who was renamed of late.

-- +goose Up
ALTER TABLE users ADD KEY users_renamed_at (renamed_at);

-- +goose Down
ALTER TABLE users DROP KEY users_renamed_at;
