-- What the column means: mysql/00015_sweeps_requested_by.sql.

-- +goose Up
ALTER TABLE sweeps ADD COLUMN requested_by TEXT NOT NULL DEFAULT ''
    CONSTRAINT sweeps_requested_by_length CHECK (length(requested_by) <= 255);

-- +goose Down
ALTER TABLE sweeps DROP COLUMN requested_by;
