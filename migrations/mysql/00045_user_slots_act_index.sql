-- The impersonations of an admin are found when the admin loses the right to them.

-- +goose Up
ALTER TABLE user_slots ADD KEY user_slots_act (act_id);

-- +goose Down
ALTER TABLE user_slots DROP KEY user_slots_act;
