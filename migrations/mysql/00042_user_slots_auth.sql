-- As in users: see 00041_users_auth.sql.

-- +goose Up
ALTER TABLE user_slots
    ADD COLUMN auth_token_id BIGINT NULL,
    ADD COLUMN auth_method VARCHAR(64) NULL,
    ADD COLUMN auth_time BIGINT NULL;

-- +goose Down
ALTER TABLE user_slots DROP COLUMN auth_time, DROP COLUMN auth_method, DROP COLUMN auth_token_id;
