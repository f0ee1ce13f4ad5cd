-- Who guards the last admin looks for the others.

-- +goose Up
ALTER TABLE users ADD KEY users_role (role);

-- +goose Down
ALTER TABLE users DROP KEY users_role;
