-- Who made a one-time link, and what its use depends on beside the user's own
-- password. issue_id is the ID of the event that records it: its time, and the order
-- of lists. issued_by is the user who made it, 0 for a command on the server;
-- issuer is the name that the record has. issuer_changed_at is users.updated_at of
-- the issuer, and all_ended_at is settings.global_floor_at, both as they were then:
-- the link works while they still are.
--
-- The previous release writes none of these columns. Its INSERT leaves them NULL; its
-- UPDATE puts another token_hash into a row and leaves what they say of the one
-- before. So they count only where issue_hash is token_hash. Elsewhere nobody knows
-- who made the link, and it does not work.

-- +goose Up
ALTER TABLE password_resets
    ADD COLUMN issue_id BIGINT NULL,
    ADD COLUMN issue_hash VARBINARY(32) NULL,
    ADD COLUMN issued_by BIGINT NULL,
    ADD COLUMN issuer VARCHAR(255) NULL,
    ADD COLUMN issuer_changed_at BIGINT NULL,
    ADD COLUMN all_ended_at BIGINT NULL,
    ADD KEY password_resets_issue_id (issue_id),
    ADD KEY password_resets_issued_by (issued_by, issue_id);

-- +goose Down
ALTER TABLE password_resets
    DROP KEY password_resets_issue_id, DROP KEY password_resets_issued_by,
    DROP COLUMN issue_id, DROP COLUMN issue_hash, DROP COLUMN issued_by, DROP COLUMN issuer,
    DROP COLUMN issuer_changed_at, DROP COLUMN all_ended_at;
