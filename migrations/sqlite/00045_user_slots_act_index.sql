-- What it is for: mysql/00045_user_slots_act_index.sql.

-- +goose Up
CREATE INDEX user_slots_act ON user_slots (act_id);

-- +goose Down
DROP INDEX user_slots_act;
