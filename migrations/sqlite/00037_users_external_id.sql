-- What the columns mean: mysql/00037_users_external_id.sql.

-- +goose Up
ALTER TABLE users ADD COLUMN external_id TEXT NULL
    CONSTRAINT users_external_id_length CHECK (length(external_id) <= 190);
ALTER TABLE users ADD COLUMN imported_version INTEGER NULL;

-- +goose Down
ALTER TABLE users DROP COLUMN imported_version;
ALTER TABLE users DROP COLUMN external_id;
