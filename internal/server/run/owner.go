package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"

	"github.com/flakepass/flakepass/internal/server/config"
)

// An owner is a user of the machine to whom a file or folder belongs.
type owner struct {
	uid, gid int
	of       string // the file or folder
}

// AsOwner makes a process of root's go on, for good, as the user to whom its data belong. A
// process of another user stays as it is.
//
// What root makes would belong to root, and the server's user could not open it. And
// somebody who has taken over that user could put a link in the place of any file or folder:
// root would write where it leads to. So a command reads its settings, and opens the files that
// the operator names, before this.
//
// advise adds to an error of what is done then who this is, if that is another user now.
func AsOwner(ctx context.Context, cfg config.Config, log *slog.Logger) (advise func(error) error, err error) {
	of, found := foreignOwner(cfg)
	if !found {
		return func(err error) error { return err }, nil
	}
	if err := become(of); err != nil {
		return nil, fmt.Errorf("%s belongs to the user %d, and root cannot go on as that user (%w); run this as that user", of.of, of.uid, err)
	}
	log.InfoContext(ctx, "going on as the owner of the data, not as root", "uid", of.uid, "path", of.of)
	return func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%w; this goes on as the user %d, the owner of %s: that user must be able to open the data, and to enter the folders above", err, of.uid, of.of)
	}, nil
}

// foreignOwner is to whom the data of this configuration belong, if this process is root's and
// they are not.
func foreignOwner(cfg config.Config) (of owner, found bool) {
	var paths []string
	if cfg.Database.Kind == config.SQLite {
		beside, before, err := keyFiles(cfg)
		paths = []string{cfg.Database.Path, filepath.Join(cfg.DataDir, "worker"), before}
		if err == nil {
			paths = append(paths, beside, filepath.Join(filepath.Dir(beside), "worker"))
		}
	}
	if cfg.Worker.ZooKeeper.Key != "" {
		paths = append(paths, reserveFile(cfg))
	}
	for _, path := range paths {
		if of, found = ownerOnTheWay(path); found {
			return of, true
		}
	}
	return owner{}, false
}

// whose adds what to do about a file that may not be opened.
func whose(err error) string {
	if !errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return "; give it, and the folder that it is in, to the user who runs flakepass (chown), or run this as their owner"
}
