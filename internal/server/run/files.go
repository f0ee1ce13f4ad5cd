package run

import (
	"context"
	"log/slog"
)

// otherFiles is how many files stay for all but the clients of the API: the connections to the
// database and to Redis, the ops port, and what is read from the disk.
const otherFiles = 256

// connections is how many clients of the API may have open: as many as is configured, or as the
// limit of open files leaves room for. Above that limit none is accepted, so that none takes the
// place of an idle one, and no connection to the database is made.
func connections(ctx context.Context, configured int, log *slog.Logger) int {
	files, known := openFiles()
	room := max(files/2, files-min(files, otherFiles))
	if !known || room >= uint64(configured) {
		return configured
	}
	log.WarnContext(ctx, "the limit of open files is too low for FLAKEPASS_MAX_CONNECTIONS, and fewer connections are taken; raise it (LimitNOFILE of systemd, ulimit -n)",
		"open_files", files, "connections", room)
	return int(room)
}
