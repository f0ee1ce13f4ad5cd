-- Whether an instance knows further slots of users: 1, or 0 of an earlier release, which
-- does not write the column. While there is one of these no policy allows a second session:
-- it would refuse the tokens of further slots.

-- +goose Up
ALTER TABLE instances ADD COLUMN slots INT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE instances DROP COLUMN slots;
