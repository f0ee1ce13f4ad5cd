-- The user who requested the pass of the sweep; empty for a scheduled pass.

-- +goose Up
ALTER TABLE sweeps ADD COLUMN requested_by VARCHAR(255) NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE sweeps DROP COLUMN requested_by;
