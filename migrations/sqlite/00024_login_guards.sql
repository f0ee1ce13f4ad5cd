-- What the columns mean: mysql/00024_login_guards.sql.

-- +goose Up
CREATE TABLE login_guards (
    guard    INTEGER NOT NULL PRIMARY KEY,
    version  INTEGER NOT NULL,
    full_at  INTEGER NOT NULL,
    period   INTEGER NOT NULL,
    told_at  INTEGER NOT NULL,
    networks BLOB    NULL CONSTRAINT login_guards_networks_length CHECK (length(networks) <= 256)
) STRICT;
CREATE INDEX login_guards_full_at ON login_guards (full_at);

-- +goose Down
DROP TABLE IF EXISTS login_guards;
