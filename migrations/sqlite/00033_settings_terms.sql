-- What the column means: mysql/00033_settings_terms.sql.

-- +goose Up
ALTER TABLE settings ADD COLUMN terms BLOB NULL
    CONSTRAINT settings_terms_length CHECK (length(terms) <= 12000);

-- +goose Down
ALTER TABLE settings DROP COLUMN terms;
