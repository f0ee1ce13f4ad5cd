package run

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/server/config"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

// TestAnInstanceThatIsBehindLetsLoginsWait: docs/operating.md says for how long, and what is refused. The login elsewhere is
// put into the row, with the ID of an instance that is ahead.
func TestAnInstanceThatIsBehindLetsLoginsWait(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg, err := config.Load(config.Options{Environ: []string{
		"FLAKEPASS_LISTEN=127.0.0.1:0", "FLAKEPASS_OPS_LISTEN=127.0.0.1:0", "FLAKEPASS_HASH_PROCESS=off", "FLAKEPASS_DATA_DIR=" + dir,
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err = Serve(ctx, cfg, io.Discard, io.Discard, func(public, _ string) {
		defer stop()
		post := func(path string) int {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+public+path, strings.NewReader(`{"username":"alice","password":"correct horse battery staple"}`))
			if err != nil {
				t.Error(err)
				return 0
			}
			r.Header.Set("Content-Type", "application/json")
			answer, err := (&http.Client{Timeout: time.Minute}).Do(r)
			if err != nil {
				t.Error(err)
				return 0
			}
			_ = answer.Body.Close()
			return answer.StatusCode
		}
		if made, opened := post("/v1/register"), post("/v1/login"); made != http.StatusCreated || opened != http.StatusOK {
			t.Errorf("registered: %d, logged in: %d", made, opened)
		}
		db, err := sqlstore.Open(t.Context(), sqlstore.Options{Dialect: migrations.SQLite, Source: filepath.Join(dir, "flakepass.db"), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = db.Close() }()
		for _, c := range []struct {
			behind time.Duration
			want   int
		}{{3 * time.Second, http.StatusOK}, {time.Minute, http.StatusServiceUnavailable}} {
			// Not asserted is for how long it waits: an ID may be some way ahead of the clock.
			statement(t, db, "UPDATE users SET token_id = ?", int64(idworker.Default().Smallest(time.Now().Add(c.behind))))
			if got := post("/v1/login"); got != c.want {
				t.Errorf("%v behind: %d, want %d", c.behind, got, c.want)
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}
