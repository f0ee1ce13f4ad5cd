-- Deleted accounts, and those that are to be deleted, are found without reading all users.

-- +goose Up
ALTER TABLE users ADD KEY users_deleted_at (deleted_at), ADD KEY users_deletion_asked_at (deletion_asked_at);

-- +goose Down
ALTER TABLE users DROP KEY users_deletion_asked_at, DROP KEY users_deleted_at;
