-- The issuer of a one-time link, and the values that its use depends on besides the
-- user's own password. issue_id is the ID of its audit event: its time, and the order
-- of lists. issued_by is the user who made it, 0 for a command on the server;
-- issuer is the name in the audit event. issuer_changed_at is users.updated_at of
-- the issuer, and all_ended_at is settings.global_floor_at, both as they were then:
-- the link works while both are unchanged.
--
-- The previous release writes none of these columns. Its INSERT leaves them NULL; its
-- UPDATE puts another token_hash into a row and leaves the values of the one
-- before. So they count only if issue_hash equals token_hash. Otherwise the issuer
-- is unknown, and the link does not work.

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
