-- renamed_at: when the user got another username, by the database's clock; NULL if never.
-- Polls look at it. counted_by_id: 1 if guesses, devices and places of the account are
-- counted under its ID. They are counted under its username (0) where a release made the
-- account that did not know of renames, until it is renamed.
-- The index is a step of its own: with it the table would be copied, and without it no row is.

-- +goose Up
ALTER TABLE users
    ADD COLUMN renamed_at BIGINT NULL,
    ADD COLUMN counted_by_id TINYINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE users DROP COLUMN counted_by_id, DROP COLUMN renamed_at;
