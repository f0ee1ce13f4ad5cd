-- What the columns mean: mysql/00020_second_factor.sql.

-- +goose Up
ALTER TABLE users ADD COLUMN second_factor_secret BLOB NULL
    CONSTRAINT users_second_factor_secret_length CHECK (length(second_factor_secret) <= 64);
ALTER TABLE users ADD COLUMN second_factor_at INTEGER NULL;
ALTER TABLE users ADD COLUMN second_factor_step INTEGER NOT NULL DEFAULT 0;
ALTER TABLE users ADD COLUMN recovery_codes BLOB NULL
    CONSTRAINT users_recovery_codes_length CHECK (length(recovery_codes) <= 320);

-- +goose Down
ALTER TABLE users DROP COLUMN recovery_codes;
ALTER TABLE users DROP COLUMN second_factor_step;
ALTER TABLE users DROP COLUMN second_factor_at;
ALTER TABLE users DROP COLUMN second_factor_secret;
