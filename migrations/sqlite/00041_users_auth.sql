-- What the columns mean: mysql/00041_users_auth.sql.

-- +goose Up
ALTER TABLE users ADD COLUMN auth_token_id INTEGER NULL;
ALTER TABLE users ADD COLUMN auth_method TEXT NULL
    CONSTRAINT users_auth_method_length CHECK (length(auth_method) <= 64);
ALTER TABLE users ADD COLUMN auth_time INTEGER NULL;

-- +goose Down
ALTER TABLE users DROP COLUMN auth_time;
ALTER TABLE users DROP COLUMN auth_method;
ALTER TABLE users DROP COLUMN auth_token_id;
