-- What users.lock_version is for a user, for what rests on all users: that one admin is
-- left, for example.

-- +goose Up
ALTER TABLE settings ADD COLUMN lock_version BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE settings DROP COLUMN lock_version;
