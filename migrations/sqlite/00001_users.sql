-- What the columns mean: mysql/00001_users.sql. The lengths that MySQL's types
-- bound are bounded by CHECKs. password_hash is text here, for a STRICT column
-- takes only the type that the program sends.

-- +goose Up
CREATE TABLE users (
    id               INTEGER NOT NULL PRIMARY KEY,
    username         TEXT    NOT NULL CONSTRAINT users_username_length CHECK (length(username) <= 255),
    password_hash    TEXT    NOT NULL CONSTRAINT users_password_hash_length CHECK (length(password_hash) <= 255),
    password_version INTEGER NOT NULL DEFAULT 1,
    role             TEXT    NOT NULL,
    disabled_at      INTEGER NULL,
    token_id         INTEGER NULL,
    token_hash       BLOB    NULL CONSTRAINT users_token_hash_length CHECK (length(token_hash) <= 33),
    token_seen_at    INTEGER NULL,
    token_floor      INTEGER NOT NULL DEFAULT 0,
    token_floor_at   INTEGER NOT NULL DEFAULT 0,
    ended_token_id   INTEGER NULL,
    ended_token_hash BLOB    NULL CONSTRAINT users_ended_token_hash_length CHECK (length(ended_token_hash) <= 33),
    ended_reason     TEXT    NULL CONSTRAINT users_ended_reason_length CHECK (length(ended_reason) <= 24),
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    CONSTRAINT users_role_known CHECK (role IN ('user', 'service', 'admin')),
    CONSTRAINT users_token_above_floor CHECK (token_id IS NULL OR token_id > token_floor),
    CONSTRAINT users_token_whole CHECK (
        (token_id IS NULL) = (token_hash IS NULL) AND (token_id IS NULL) = (token_seen_at IS NULL)
    ),
    CONSTRAINT users_ended_whole CHECK (
        (ended_token_id IS NULL) = (ended_token_hash IS NULL) AND (ended_token_id IS NULL) = (ended_reason IS NULL)
    )
) STRICT;

CREATE UNIQUE INDEX users_username ON users (username);
CREATE UNIQUE INDEX users_token_id ON users (token_id);
CREATE UNIQUE INDEX users_ended_token_id ON users (ended_token_id);
CREATE INDEX users_token_seen_at ON users (token_seen_at);
CREATE INDEX users_token_floor_at ON users (token_floor_at);

-- +goose Down
DROP TABLE IF EXISTS users;
