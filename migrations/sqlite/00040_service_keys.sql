-- What the columns mean: mysql/00040_service_keys.sql.

-- +goose Up
CREATE TABLE service_keys (
    id         INTEGER NOT NULL PRIMARY KEY,
    user_id    INTEGER NOT NULL,
    name       TEXT    NOT NULL CONSTRAINT service_keys_name_length CHECK (length(name) <= 64),
    hash       BLOB    NOT NULL CONSTRAINT service_keys_hash_length CHECK (length(hash) <= 33),
    scopes     TEXT    NOT NULL CONSTRAINT service_keys_scopes_length CHECK (length(scopes) <= 255),
    created_by INTEGER NOT NULL,
    expires_at INTEGER NULL,
    revoked_at INTEGER NULL,
    used_at    INTEGER NULL
) STRICT;
CREATE INDEX service_keys_user ON service_keys (user_id, id);

-- +goose Down
DROP TABLE IF EXISTS service_keys;
