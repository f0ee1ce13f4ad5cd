-- max_sessions is how many sessions a user has at once by the policy in force. slots is
-- how many further slots a policy has ever allowed; it only grows. While it is 0, no user
-- has a session in user_slots, and nothing asks there. reduced_to is how many sessions of a
-- user the rows may have: more than max_sessions from when that was lowered until a sweep
-- has ended those that are too many.

-- +goose Up
ALTER TABLE settings ADD COLUMN max_sessions INT NOT NULL DEFAULT 1, ADD COLUMN slots INT NOT NULL DEFAULT 0, ADD COLUMN reduced_to INT NOT NULL DEFAULT 1;

-- +goose Down
ALTER TABLE settings DROP COLUMN max_sessions, DROP COLUMN slots, DROP COLUMN reduced_to;
