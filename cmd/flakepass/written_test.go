package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// nothingWritten looks for the secrets of the story in all that was written while
// it was told.
func nothingWritten(t *testing.T, w *world, monitored *testenv.Journal) {
	for _, i := range []*instance{w.a, w.b} {
		w.keep.absent(t, "/metrics", metrics(t, i.ops))
	}
	look := func(when string) {
		if w.dsn != "" {
			w.keep.absent(t, "the database "+when, rows(t, w.dsn))
			if !bytes.Contains(rows(t, w.dsn), []byte("frank")) {
				t.Error("the dump of the database holds no user: it cannot hold a secret either")
			}
			return
		}
		all := files(t, filepath.Dir(w.file))
		if !bytes.Contains(all, []byte("frank")) {
			t.Error("the files hold no user: they cannot hold a secret either")
		}
		w.keep.absent(t, "a file in the data directory "+when, all)
	}
	look("while the server runs")
	if w.redis != nil {
		w.keep.absent(t, "Redis", keys(t, w.redis.Addr))
		w.keep.absent(t, "a command to Redis", []byte(monitored.String()))
		if !strings.Contains(monitored.String(), "fp:s:") {
			t.Error("no session went to Redis: no secret could either")
		}
	}
	for _, i := range []*instance{w.a, w.b} {
		if err := i.stop(); err != nil {
			t.Errorf("serve: %v", err)
		}
		w.keep.absent(t, "standard output", []byte(i.out.String()))
		w.keep.absent(t, "the log", []byte(i.log.String()))
		if !strings.Contains(i.log.String(), "level=DEBUG") {
			t.Error("the log is not at level debug")
		}
	}
	look("after the server has stopped")
}
