package lifecycletest

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// nothingWritten looks for the secrets of the story in all that was written while
// it was told.
func nothingWritten(t *testing.T, w *world, monitored *testenv.Journal) {
	for _, i := range []*e2e.Instance{w.a, w.b} {
		w.keep.Absent(t, "/metrics", e2e.Metrics(t, i.Ops))
	}
	look := func(when string) {
		if w.DSN != "" {
			w.keep.Absent(t, "the database "+when, rows(t, w.DSN))
			if !bytes.Contains(rows(t, w.DSN), []byte("frank")) {
				t.Error("the dump of the database holds no user: it cannot hold a secret either")
			}
			return
		}
		all := e2e.Files(t, filepath.Dir(w.File))
		if !bytes.Contains(all, []byte("frank")) {
			t.Error("the files hold no user: they cannot hold a secret either")
		}
		w.keep.Absent(t, "a file in the data directory "+when, all)
	}
	look("while the server runs")
	if w.Redis != nil {
		w.keep.Absent(t, "Redis", keys(t, w.Redis.Addr))
		w.keep.Absent(t, "a command to Redis", []byte(monitored.String()))
		if !strings.Contains(monitored.String(), "fp:s:") {
			t.Error("no session went to Redis: no secret could either")
		}
	}
	for _, i := range []*e2e.Instance{w.a, w.b} {
		if err := i.Stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
		w.keep.Absent(t, "standard output", []byte(i.Out.String()))
		w.keep.Absent(t, "the log", []byte(i.Log.String()))
		if !strings.Contains(i.Log.String(), "level=DEBUG") {
			t.Error("the log is not at level debug")
		}
	}
	look("after the server has stopped")
}
