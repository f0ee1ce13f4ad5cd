-- What the columns mean: mysql/00041_users_auth.sql.

-- +goose Up
ALTER TABLE user_slots ADD COLUMN auth_token_id INTEGER NULL;
ALTER TABLE user_slots ADD COLUMN auth_method TEXT NULL
    CONSTRAINT user_slots_auth_method_length CHECK (length(auth_method) <= 64);
ALTER TABLE user_slots ADD COLUMN auth_time INTEGER NULL;

-- +goose Down
ALTER TABLE user_slots DROP COLUMN auth_time;
ALTER TABLE user_slots DROP COLUMN auth_method;
ALTER TABLE user_slots DROP COLUMN auth_token_id;
