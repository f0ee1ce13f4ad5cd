-- Why: mysql/00006_users_role.sql.

-- +goose Up
CREATE INDEX users_role ON users (role);

-- +goose Down
DROP INDEX users_role;
