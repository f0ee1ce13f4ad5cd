-- What the columns mean: mysql/00025_polls.sql. SQLite has one clock, and no server that
-- could be replaced: the table stays empty.

-- +goose Up
CREATE TABLE polls (
    instance  TEXT    NOT NULL PRIMARY KEY CONSTRAINT polls_instance_length CHECK (length(instance) <= 32),
    polled_at INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS polls;
