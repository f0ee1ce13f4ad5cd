-- The ID of the admin who acts by the session of a row for its user: an impersonation, which
-- has the last slot of its user. NULL: a login. After the session has ended it stays.
-- token_seen_at of an impersonation is 0: no use of it counts. So what asks for sessions that
-- were used lately passes it by, and a release that does not know it ends it as idle, or as
-- above the number that a policy allows. Such a release leaves act_id where it is: a session
-- that lives and was used is a login.

-- +goose Up
ALTER TABLE user_slots ADD COLUMN act_id BIGINT NULL;

-- +goose Down
ALTER TABLE user_slots DROP COLUMN act_id;
