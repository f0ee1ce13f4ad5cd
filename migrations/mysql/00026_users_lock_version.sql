-- Where several servers take writes, a lock is known to one of them only: two
-- transactions that must not both commit have to change the same row. They raise this
-- number of the user that they rest on.

-- +goose Up
ALTER TABLE users ADD COLUMN lock_version BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE users DROP COLUMN lock_version;
