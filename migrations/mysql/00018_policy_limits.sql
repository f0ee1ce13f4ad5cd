-- The rate limits of a policy, as JSON; NULL means the default limits. The text is
-- checked when it is read: unreadable limits switch no limit off.

-- +goose Up
ALTER TABLE policies ADD COLUMN limits VARBINARY(2048) NULL;

-- +goose Down
ALTER TABLE policies DROP COLUMN limits;
