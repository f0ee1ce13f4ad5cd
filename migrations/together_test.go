//go:build unix

package migrations_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flakepass/flakepass/migrations"
)

const instances = 16

func TestManyInstancesStartOnAnEmptyDatabase(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db := d.open(t)
		for range 3 {
			together(t, d)
			if err := migrations.Check(t.Context(), db, d.dialect); err != nil {
				t.Fatal(err)
			}
			if n := count(t, db, "settings"); n != 1 {
				t.Fatalf("settings has %d rows, want the one that was seeded", n)
			}
			if _, err := migrations.Down(t.Context(), db, d.dialect, len(names), nil); err != nil {
				t.Fatal(err)
			}
			mustExec(t, db, "DROP TABLE flakepass_migrations")
		}
	})
}

// A DSN without a busy_timeout, or with deferred transactions, has SQLite refuse
// at once where others wait.
func TestLockedFileIsWaitedFor(t *testing.T) {
	d := kinds["SQLite"](t)
	d.dsn = strings.NewReplacer("busy_timeout(10000)", "busy_timeout(0)", "_txlock=immediate&", "").Replace(d.dsn)
	together(t, d)
}

// together calls Up from many pools at once and checks that each migration was
// applied by exactly one.
func together(t *testing.T, d database) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var (
		all   sync.WaitGroup
		start = make(chan struct{})
		mu    sync.Mutex
		times = map[string]int{}
	)
	for range instances {
		db := d.open(t)
		all.Go(func() {
			<-start
			applied, err := migrations.Up(ctx, db, d.dialect, nil)
			if err == nil {
				err = migrations.Check(ctx, db, d.dialect)
			}
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, a := range applied {
				times[a.Name]++
			}
			_ = db.Close()
		})
	}
	close(start)
	all.Wait()
	want := map[string]int{}
	for _, name := range names {
		want[name] = 1
	}
	if diff := cmp.Diff(times, want); diff != "" {
		t.Fatalf("how often each was applied: -got +want\n%s", diff)
	}
}

func TestManyProcessesStartOnAnEmptyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flakepass.db")
	outputs := make([]string, instances)
	var all sync.WaitGroup
	for i := range outputs {
		all.Go(func() {
			child := exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), childFile+"="+file)
			out, err := child.CombinedOutput()
			if err != nil {
				t.Errorf("process %d: %v: %s", i, err, out)
			}
			outputs[i] = string(out)
		})
	}
	all.Wait()
	sum := 0
	for _, out := range outputs {
		n, _ := strconv.Atoi(strings.TrimSpace(out))
		sum += n
	}
	if sum != len(names) {
		t.Errorf("the processes applied %d migrations together, want %d: %q", sum, len(names), outputs)
	}
}

// Two operators step down at once: what one has undone the other leaves.
func TestDownsAtOnceUndoEachMigrationOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		mustUp(t, d.open(t), d.dialect)
		var (
			all    sync.WaitGroup
			mu     sync.Mutex
			undone int
		)
		for range 4 {
			db := d.open(t)
			all.Go(func() {
				list, err := migrations.Down(t.Context(), db, d.dialect, len(names), nil)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				undone += len(list)
			})
		}
		all.Wait()
		if undone != len(names) {
			t.Errorf("%d migrations were undone, want each once: %d", undone, len(names))
		}
	})
}

// hang is when a wait for a lock that nobody gives back is given up: long after
// all else is done, and before the migrations themselves give up.
const hang = 2 * time.Minute

func TestUpToDateNeedsNoLock(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db, other := d.open(t), d.open(t)
		mustUp(t, db, d.dialect)

		hold(t, other, d.dialect)
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		defer cancel()
		if _, err := migrations.Up(ctx, db, d.dialect, nil); err != nil {
			t.Errorf("up with nothing to do: %v", err)
		}
	})
}

// A pool keeps its connections. One that kept the lock too would shut out every
// other instance until this one ends.
func TestTheLockIsFreeAfterwards(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db, other := d.open(t), d.open(t)
		mustUp(t, db, d.dialect)
		if _, err := migrations.Down(t.Context(), db, d.dialect, len(names)-slices.Index(names, "policies"), nil); err != nil {
			t.Fatal(err)
		}
		mustExec(t, db, "CREATE TABLE policies (id INT)")
		if _, err := migrations.Up(t.Context(), db, d.dialect, nil); err == nil {
			t.Fatal("up succeeded over a table of the same name")
		}
		mustExec(t, other, "DROP TABLE policies")
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		defer cancel()
		if _, err := migrations.Up(ctx, other, d.dialect, nil); err != nil {
			t.Errorf("after a failed run: %v", err)
		}
	})
}

func TestOneConnectionIsEnough(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db := d.open(t)
		db.SetMaxOpenConns(1)
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		defer cancel()
		if _, err := migrations.Up(ctx, db, d.dialect, nil); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		if d.dialect == migrations.SQLite {
			d.dsn = strings.Replace(d.dsn, "busy_timeout(10000)", "busy_timeout(10)", 1)
		}
		db, other := d.open(t), d.open(t)
		hold(t, other, d.dialect)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		applied, err := migrations.Up(ctx, db, d.dialect, nil)
		if !errors.Is(err, context.DeadlineExceeded) || len(applied) != 0 {
			t.Errorf("got %v, %v; want the end of the context", applied, err)
		}
	})
}

// hold does what an instance in the middle of a migration does: it has the
// lease, or the one write transaction, until the test ends.
func hold(t *testing.T, db *sql.DB, d migrations.Dialect) {
	t.Helper()
	if d == migrations.MySQL {
		release, err := migrations.Hold(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(release)
		return
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
}

// TestWhoWaitedGoesByWhatThereIsNow: another instance has migrated the database between the look of a call and its
// turn. A step is undone only while no newer one is there, which rests on it; and one that is
// lacking is applied, too, if it was there before.
func TestWhoWaitedGoesByWhatThereIsNow(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db, other := d.open(t), d.open(t)
		undo := func(steps int) {
			if _, err := migrations.Down(t.Context(), other, d.dialect, steps, nil); err != nil {
				t.Fatal(err)
			}
		}
		mustUp(t, db, d.dialect)
		undo(2)
		goOn, err := migrations.Late(t.Context(), db, d.dialect, true)
		if err != nil {
			t.Fatal(err)
		}
		mustUp(t, other, d.dialect)
		undone, err := goOn()
		if err == nil || len(undone) != 0 || !strings.Contains(err.Error(), "has migrated the database meanwhile") {
			t.Errorf("down: undone %v, %v; want that another has migrated meanwhile", namesOf(undone), err)
		}
		if err := migrations.Check(t.Context(), db, d.dialect); err != nil {
			t.Error(err)
		}

		undo(1)
		if goOn, err = migrations.Late(t.Context(), db, d.dialect, false); err != nil {
			t.Fatal(err)
		}
		undo(1)
		if done, err := goOn(); err != nil {
			t.Errorf("up: applied %v, %v; want both steps", namesOf(done), err)
		}
		if err := migrations.Check(t.Context(), db, d.dialect); err != nil {
			t.Error(err)
		}
	})
}
