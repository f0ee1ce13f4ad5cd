-- How much strangers may try under a policy, as JSON; NULL means the default limits.
-- The text is checked where it is read: one that cannot be read turns nothing off.

-- +goose Up
ALTER TABLE policies ADD COLUMN limits VARBINARY(2048) NULL;

-- +goose Down
ALTER TABLE policies DROP COLUMN limits;
