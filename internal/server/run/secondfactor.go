package run

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/secondfactor"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/server/keypair"
	"github.com/flakepass/flakepass/internal/server/telemetry"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

// newFactors checks second factors, under the keys that are configured.
func newFactors(ctx context.Context, cfg config.Config, db *sqlstore.DB, ids audit.IDs, log *slog.Logger, metrics *telemetry.Metrics) (*secondfactor.Service, error) {
	store := &sqlstore.SecondFactors{DB: db}
	keys, err := factorKeys(ctx, cfg, store, log)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return &secondfactor.Service{
		Store: store, Codes: store, Keys: keys, IDs: ids, Now: time.Now, Issuer: "flakepass", Checked: metrics.SecondFactors(),
	}, nil
}

// warnOfMissingKeys says which keys of stored second factors are not configured. Without the warning
// the first to notice would be a user whose right code is refused.
func warnOfMissingKeys(ctx context.Context, k secondfactor.Keys, v secondfactor.Vault, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	missing, err := k.Missing(ctx, v)
	if err != nil || len(missing) == 0 {
		return // a database that does not answer is told of elsewhere
	}
	log.WarnContext(ctx, "second factors are stored under keys that this instance does not have: their users need a recovery code; "+
		"add the keys to FLAKEPASS_SECOND_FACTOR_KEY", "keys", missing)
}

// keyFiles are where a key of second factors is with SQLite. It is made beside the database, so
// that all instances on one file have it. Earlier versions made one in the data directory, which
// still opens what it has closed.
func keyFiles(cfg config.Config) (beside, before string, err error) {
	const name = "second-factor.key"
	dir, err := databaseFolder(cfg.Database.Path)
	return filepath.Join(dir, name), filepath.Join(cfg.DataDir, name), err
}

// StoredKeys are the keys of second factors that a server with this configuration has: those
// of the setting, or else, with SQLite, those of the files. It fails with [fs.ErrNotExist] if
// there is none.
func StoredKeys(cfg config.Config) (secondfactor.Keys, error) {
	var raw [][]byte
	for _, k := range cfg.SecondFactorKeys {
		raw = append(raw, []byte(k.Reveal()))
	}
	if len(raw) == 0 {
		if cfg.Database.Kind != config.SQLite {
			return secondfactor.Keys{}, fs.ErrNotExist
		}
		beside, before, err := keyFiles(cfg)
		if err != nil {
			return secondfactor.Keys{}, fmt.Errorf("the folder of the database (FLAKEPASS_DATA_DIR or FLAKEPASS_DATABASE): %w%s", err, whose(err))
		}
		for _, path := range []string{beside, before} {
			key, err := readKey(path)
			if errors.Is(err, fs.ErrNotExist) || slices.ContainsFunc(raw, func(k []byte) bool { return bytes.Equal(k, key) }) {
				continue
			}
			if err != nil {
				return secondfactor.Keys{}, err
			}
			raw = append(raw, key)
		}
		if len(raw) == 0 {
			return secondfactor.Keys{}, fmt.Errorf("%s: %w", beside, fs.ErrNotExist)
		}
	}
	return secondfactor.NewKeys(raw...)
}

// factorKeys are those that are stored. With SQLite and none there, one is made.
func factorKeys(ctx context.Context, cfg config.Config, store *sqlstore.SecondFactors, log *slog.Logger) (secondfactor.Keys, error) {
	keys, err := StoredKeys(cfg)
	if cfg.Database.Kind == config.SQLite && len(cfg.SecondFactorKeys) == 0 && err == nil {
		if err := shareKey(cfg); err != nil {
			return secondfactor.Keys{}, err
		}
		return StoredKeys(cfg) // another instance may have shared one meanwhile
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return keys, err
	}
	if cfg.Database.Kind != config.SQLite {
		log.InfoContext(ctx, "no user can add a second factor, and a login in two steps has to end at the instance where it began: FLAKEPASS_SECOND_FACTOR_KEY is not set")
		return secondfactor.Keys{}, nil
	}
	path, _, err := keyFiles(cfg)
	if err != nil {
		return secondfactor.Keys{}, err
	}
	key, err := keyFile(path, func() error {
		// A new key would not open what the old one has closed.
		if has, err := store.Any(ctx); err != nil || !has {
			return err
		}
		missing, err := secondfactor.Keys{}.Missing(ctx, store)
		return errors.Join(err, fmt.Errorf("%s is missing, FLAKEPASS_SECOND_FACTOR_KEY is not set, and the database has second factors under the keys %s; "+
			"restore the file, or set FLAKEPASS_SECOND_FACTOR_KEY to these keys: with another one each user with a factor needs a recovery code, or an admin who removes it",
			path, strings.Join(missing, ", ")))
	})
	if err != nil {
		return secondfactor.Keys{}, err
	}
	return secondfactor.NewKeys(key)
}

// shareKey puts the key of an earlier version beside the database, for the other instances.
func shareKey(cfg config.Config) error {
	beside, before, err := keyFiles(cfg)
	if err != nil {
		return err
	}
	if _, err := readKey(beside); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := readKey(before)
	if err == nil {
		err = writeKey(beside, key)
	}
	return err
}

// keyFile reads the key in a file, in hexadecimal, and makes the file if it is
// missing and may allows it. Of several processes that make it at once, one does.
func keyFile(path string, may func() error) ([]byte, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := may(); err != nil {
		return nil, err
	}
	fresh := make([]byte, secondfactor.KeyLength)
	_, _ = rand.Read(fresh) // never fails
	if err := writeKey(path, fresh); err != nil {
		return nil, err
	}
	return readKey(path)
}

func writeKey(path string, key []byte) error {
	if err := writeOnce(path, hex.EncodeToString(key)+"\n"); err != nil {
		return fmt.Errorf("cannot make the key of second factors: %w; make the folder of the database writable, or set FLAKEPASS_SECOND_FACTOR_KEY", err)
	}
	return nil
}

func readKey(path string) ([]byte, error) {
	text, err := keypair.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("key of second factors: %w%s", err, whose(err))
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != secondfactor.KeyLength {
		return nil, fmt.Errorf("%s is damaged: it must hold 64 hexadecimal digits; restore it from a backup", path) // and the cause could repeat it
	}
	return key, nil
}

// writeOnce makes a file that only its owner reads, whole and on the disk before
// it has its name. A file that is there already stays.
func writeOnce(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".second-factor-*") // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Link(f.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
