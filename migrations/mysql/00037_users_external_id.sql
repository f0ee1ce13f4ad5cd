-- What another system calls a user, such as the key in its table; NULL if nothing. And the
-- password_version with which a user was imported: while that is the version, the password
-- is one that the other system has accepted, and the rules for new ones do not hold for it.

-- +goose Up
ALTER TABLE users
    ADD COLUMN external_id VARCHAR(190) NULL,
    ADD COLUMN imported_version BIGINT NULL,
    ADD UNIQUE KEY users_external_id (external_id);

-- +goose Down
ALTER TABLE users DROP KEY users_external_id, DROP COLUMN imported_version, DROP COLUMN external_id;
