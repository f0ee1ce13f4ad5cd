-- What another system calls a user, such as the key in its table; NULL if nothing. And the
-- password_version with which a user was imported: while that is the version, the password
-- is one that the other system has accepted, and the rules for new ones do not hold for it.
-- The index is a step of its own: with it the table would be copied, and without it no row is.

-- +goose Up
ALTER TABLE users
    ADD COLUMN external_id VARCHAR(190) NULL,
    ADD COLUMN imported_version BIGINT NULL;

-- +goose Down
ALTER TABLE users DROP COLUMN imported_version, DROP COLUMN external_id;
