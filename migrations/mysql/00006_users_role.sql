-- The check for the last admin looks for other admins.

-- +goose Up
ALTER TABLE users ADD KEY users_role (role);

-- +goose Down
ALTER TABLE users DROP KEY users_role;
