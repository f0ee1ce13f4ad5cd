-- Who asked for a pass of the sweep; empty for one that came by its schedule.

-- +goose Up
ALTER TABLE sweeps ADD COLUMN requested_by VARCHAR(255) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE sweeps DROP COLUMN requested_by;
