//go:build unix

package sqlstore_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

func TestFirstPolicyIsTheDefault(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		settings := &sqlstore.Settings{DB: w.DB}
		got, err := settings.LoadPolicy(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := policy.Default()
		want.IdleBase, want.AbsoluteBase = longAgo.UTC(), longAgo.UTC()
		want.Further = strings.Contains(t.Name(), "after_more_sessions")
		want.UpdatedAt, want.UpdatedBy = longAgo.UTC(), "flakepass"
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("-got +want\n%s", diff)
		}
		w.exec(t, "UPDATE settings SET version = 2, idle_timeout_ms = 60001, idle_base = 5, absolute_base = 6, updated_by = 'ada'")
		got, err = settings.LoadPolicy(t.Context())
		if err != nil || got.Version != 2 || got.Idle.Milliseconds() != 60001 || got.IdleBase.UnixMilli() != 5 ||
			got.AbsoluteBase.UnixMilli() != 6 || got.UpdatedBy != "ada" {
			t.Errorf("after a change: %+v, %v", got, err)
		}
		w.exec(t, "DELETE FROM settings")
		if got, err := settings.LoadPolicy(t.Context()); err == nil {
			t.Errorf("without settings: %+v and no error", got)
		}
	})
}

func TestAllInstancesShareOneCacheKey(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var keys [16][]byte
		atOnce(len(keys), func(i int) {
			var err error
			if keys[i], err = (&sqlstore.Settings{DB: w.DB}).CacheKey(t.Context()); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
		for i, key := range keys {
			if len(key) != 32 || !bytes.Equal(key, keys[0]) || bytes.Equal(key, make([]byte, 32)) {
				t.Errorf("caller %d has a key of %d bytes that is not the first one's, or is empty", i, len(key))
			}
		}
		other := newWorld(t, kindOf(t))
		if key, err := (&sqlstore.Settings{DB: other.DB}).CacheKey(t.Context()); err != nil || bytes.Equal(key, keys[0]) {
			t.Errorf("another deployment has the same key, or %v", err)
		}
		w.exec(t, "DROP TABLE deployment")
		if _, err := (&sqlstore.Settings{DB: w.DB}).CacheKey(t.Context()); err == nil {
			t.Error("without a table: no error")
		}
	})
}
