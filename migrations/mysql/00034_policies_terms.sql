-- What each policy said of devices and roles: see 00033_settings_terms.sql.

-- +goose Up
ALTER TABLE policies ADD COLUMN terms VARBINARY(12000) NULL;

-- +goose Down
ALTER TABLE policies DROP COLUMN terms;
