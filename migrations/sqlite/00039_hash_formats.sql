-- What the columns mean: mysql/00039_hash_formats.sql.

-- +goose Up
CREATE TABLE hash_formats (
    format     TEXT    NOT NULL PRIMARY KEY CONSTRAINT hash_formats_format_length CHECK (length(format) <= 64),
    imported   INTEGER NOT NULL,
    users      INTEGER NOT NULL,
    counted_at INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE IF EXISTS hash_formats;
