-- A user's second factor, in the user's row so that it changes together with the
-- login. second_factor_secret is encrypted; it counts once second_factor_at says
-- when a code of it was shown. second_factor_step is the last time step whose code
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
