-- What the columns mean: mysql/00019_password_resets.sql.

-- +goose Up
CREATE TABLE password_resets (
    user_id          INTEGER NOT NULL PRIMARY KEY,
    token_hash       BLOB    NOT NULL CONSTRAINT password_resets_token_hash_length CHECK (length(token_hash) <= 32),
    password_version INTEGER NOT NULL,
    expires_at       INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX password_resets_token_hash ON password_resets (token_hash);

-- +goose Down
DROP TABLE IF EXISTS password_resets;
