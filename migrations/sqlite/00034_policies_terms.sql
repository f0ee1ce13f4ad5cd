-- What the column means: mysql/00034_policies_terms.sql.

-- +goose Up
ALTER TABLE policies ADD COLUMN terms BLOB NULL
    CONSTRAINT policies_terms_length CHECK (length(terms) <= 12000);

-- +goose Down
ALTER TABLE policies DROP COLUMN terms;
