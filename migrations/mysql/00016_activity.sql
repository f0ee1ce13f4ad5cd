-- The number of events by the hour and the instance, for the console.
-- hour is its beginning. Each instance adds to rows of its own once a minute;
-- rows older than eight days are deleted.

-- +goose Up
CREATE TABLE activity (
    hour     BIGINT      NOT NULL,
    instance VARCHAR(64) NOT NULL,
    kind     VARCHAR(16) NOT NULL,
    n        BIGINT      NOT NULL,
    PRIMARY KEY (hour, instance, kind)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- +goose Down
DROP TABLE IF EXISTS activity;
