-- How many sessions a user had at once by each policy.

-- +goose Up
ALTER TABLE policies ADD COLUMN max_sessions INT NOT NULL DEFAULT 1;

-- +goose Down
ALTER TABLE policies DROP COLUMN max_sessions;
