-- What the policy in force says of devices and roles, as JSON, and up to where its logins
-- are over by device class and role; NULL: nothing. What cannot be read decides nothing.

-- +goose Up
ALTER TABLE settings ADD COLUMN terms VARBINARY(12000) NULL;

-- +goose Down
ALTER TABLE settings DROP COLUMN terms;
