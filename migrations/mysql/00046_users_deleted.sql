-- When an operator, or the end of a grace period, deleted the account; NULL for one that is
-- not. disabled_at is set with it, so that a release that does not know the column lets
-- nobody in either. The row stays until the purge: no second account takes its name or its
-- external ID before. And when a person asked for the own account to be deleted; NULL if the
-- person did not, or logged in again since; beside it the ID of the last login until then in
-- the first slot, 0 if there was none. The index is a step of its own: with it the table
-- would be read, and without it no row is.

-- +goose Up
ALTER TABLE users
    ADD COLUMN deleted_at BIGINT NULL,
    ADD COLUMN deletion_asked_at BIGINT NULL,
    ADD COLUMN deletion_asked_login BIGINT NULL;

-- +goose Down
ALTER TABLE users DROP COLUMN deletion_asked_login, DROP COLUMN deletion_asked_at, DROP COLUMN deleted_at;
