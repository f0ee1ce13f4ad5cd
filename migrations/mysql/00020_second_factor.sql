-- A user's second factor, in the user's row so that it changes together with the
-- login. second_factor_secret is encrypted; it is active when second_factor_at has
-- the time of its first code. second_factor_step is the last time step whose code
-- was used. recovery_codes are the hashes, 32 bytes each, of those not used yet.

-- +goose Up
ALTER TABLE users
    ADD COLUMN second_factor_secret VARBINARY(64) NULL,
    ADD COLUMN second_factor_at BIGINT NULL,
    ADD COLUMN second_factor_step BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN recovery_codes VARBINARY(320) NULL;

-- +goose Down
ALTER TABLE users
    DROP COLUMN second_factor_secret, DROP COLUMN second_factor_at, DROP COLUMN second_factor_step, DROP COLUMN recovery_codes;
