-- What the column means: mysql/00018_policy_limits.sql.

-- +goose Up
ALTER TABLE policies ADD COLUMN limits BLOB NULL
    CONSTRAINT policies_limits_length CHECK (length(limits) <= 2048);

-- +goose Down
ALTER TABLE policies DROP COLUMN limits;
