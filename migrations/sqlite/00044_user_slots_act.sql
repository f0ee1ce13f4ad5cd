-- What it is: mysql/00044_user_slots_act.sql.

-- +goose Up
ALTER TABLE user_slots ADD COLUMN act_id INTEGER NULL;

-- +goose Down
ALTER TABLE user_slots DROP COLUMN act_id;
