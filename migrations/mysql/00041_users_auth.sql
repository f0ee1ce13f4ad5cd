-- How an issuer has authenticated the user of a login, and when: Unix milliseconds.
-- auth_token_id is the login for which both hold; NULL for one with a password. A release that
-- does not know the columns leaves in them what the last login on this release has said.

-- +goose Up
ALTER TABLE users
    ADD COLUMN auth_token_id BIGINT NULL,
    ADD COLUMN auth_method VARCHAR(64) NULL,
    ADD COLUMN auth_time BIGINT NULL;

-- +goose Down
ALTER TABLE users DROP COLUMN auth_time, DROP COLUMN auth_method, DROP COLUMN auth_token_id;
