//go:build unix

package migrations_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flakepass/flakepass/internal/proof/testenv"
	"github.com/flakepass/flakepass/migrations"
)

var names = []string{
	"users", "settings", "settings_seed", "worker_nodes", "deployment",
	"users_role", "audit_events", "sweeps", "policies", "policies_seed",
	"known_places",
	"audit_names", "users_disabled",
	"sweep_state", "sweeps_requested_by",
	"activity", "users_idle", "policy_limits", "password_resets", "second_factor",
	"instances", "token_proved", "password_resets_issuer", "login_guards",
	"polls", "users_lock_version", "settings_lock_version", "devices", "user_slots", "settings_max_sessions", "policies_max_sessions", "instances_slots",
	"settings_terms", "policies_terms", "users_device_key", "user_slots_device_key", "users_external_id", "users_external_id_unique", "hash_formats", "service_keys",
	"users_auth", "user_slots_auth", "issue_requests", "user_slots_act", "user_slots_act_index", "users_deleted", "users_deletions",
	"user_names", "user_names_seed", "users_renamed", "users_renamed_at",
}

// numberOf is the number of the step with that name: numbers may have gaps.
func numberOf(t *testing.T, name string) int {
	t.Helper()
	files, err := filepath.Glob("mysql/*_" + name + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		number, rest, _ := strings.Cut(filepath.Base(f), "_")
		if n, err := strconv.Atoi(number); err == nil && rest == name+".sql" {
			return n
		}
	}
	t.Fatalf("no file of %s", name)
	return 0
}

func namesOf(list []migrations.Applied) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.Name)
	}
	return out
}

func TestUpDownUp(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db, reversed := d.open(t), slices.Clone(names)
		slices.Reverse(reversed)

		for range 2 {
			if err := migrations.Check(t.Context(), db, d.dialect); !errors.Is(err, migrations.ErrBehind) {
				t.Fatalf("check of an empty database: got %v, want ErrBehind", err)
			}
			if diff := cmp.Diff(namesOf(mustUp(t, db, d.dialect)), names); diff != "" {
				t.Fatalf("up: -got +want\n%s", diff)
			}
			if err := migrations.Check(t.Context(), db, d.dialect); err != nil {
				t.Fatal(err)
			}
			if again := mustUp(t, db, d.dialect); again != nil {
				t.Fatalf("up again: applied %v", again)
			}
			one, err := migrations.Down(t.Context(), db, d.dialect, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			last := names[len(names)-1]
			behind := fmt.Sprintf("at %d and lacks %05d_%s", numberOf(t, names[len(names)-2]), numberOf(t, last), last)
			err = migrations.Check(t.Context(), db, d.dialect)
			if !errors.Is(err, migrations.ErrBehind) || !strings.Contains(err.Error(), behind) {
				t.Fatalf("check after one step down: got %v", err)
			}
			rest, err := migrations.Down(t.Context(), db, d.dialect, 99, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(namesOf(append(one, rest...)), reversed); diff != "" {
				t.Fatalf("down: -got +want\n%s", diff)
			}
			tables := schemaOf(t, db, d.dialect).Columns
			if len(tables) != 0 {
				t.Fatalf("after down to zero: %v is left", tables)
			}
		}
	})
}

func TestDownTakesAtLeastOneStep(t *testing.T) {
	d := kinds["SQLite"](t)
	db := d.open(t)
	mustUp(t, db, d.dialect)
	for _, steps := range []int{0, -1} {
		if undone, err := migrations.Down(t.Context(), db, d.dialect, steps, nil); err == nil || undone != nil {
			t.Errorf("down %d: got %v, %v; want an error", steps, undone, err)
		}
	}
}

func TestStatusTellsWhenByTheDatabasesClock(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db := d.open(t)
		before := time.Now()
		mustUp(t, db, d.dialect)
		if _, err := migrations.Down(t.Context(), db, d.dialect, 1, nil); err != nil {
			t.Fatal(err)
		}
		states, err := migrations.Status(t.Context(), db, d.dialect)
		if err != nil {
			t.Fatal(err)
		}
		if len(states) != len(names) {
			t.Fatalf("got %d states, want %d", len(states), len(names))
		}
		for i, s := range states {
			if want := numberOf(t, names[i]); s.Number != int64(want) || s.Name != names[i] {
				t.Errorf("state %d: got %d %s, want %d %s", i, s.Number, s.Name, want, names[i])
			}
			// The database runs on this machine; a zone mixed up would be hours.
			if i < len(names)-1 && s.AppliedAt.Sub(before).Abs() > 10*time.Minute {
				t.Errorf("%s: applied at %v, now is %v", s.Name, s.AppliedAt, before)
			}
		}
		if last := states[len(names)-1]; !last.AppliedAt.IsZero() {
			t.Errorf("%s: applied at %v after it was undone", last.Name, last.AppliedAt)
		}
	})
}

// Looking does not write: Status and Check serve people and probes whose user
// may only read.
func TestLookingChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db := d.open(t)
		if _, err := migrations.Status(t.Context(), db, d.dialect); err != nil {
			t.Fatal(err)
		}
		_ = migrations.Check(t.Context(), db, d.dialect)
		if has := tablesOf(t, db, d.dialect); len(has) != 0 {
			t.Errorf("an empty database now has %v", has)
		}
	})
}

func TestNewerDatabaseIsLeftAlone(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db := d.open(t)
		mustUp(t, db, d.dialect)
		steps, known := len(names), numberOf(t, names[len(names)-1])
		mustExec(t, db, fmt.Sprintf("INSERT INTO flakepass_migrations (number, applied_at) VALUES (%d, 1)", known+2))

		_, upErr := migrations.Up(t.Context(), db, d.dialect, nil)
		_, downErr := migrations.Down(t.Context(), db, d.dialect, 1, nil)
		checkErr := migrations.Check(t.Context(), db, d.dialect)
		for call, err := range map[string]error{"up": upErr, "down": downErr, "check": checkErr} {
			if !errors.Is(err, migrations.ErrAhead) || !strings.Contains(err.Error(), fmt.Sprintf("at %d, the program knows up to %d", known+2, known)) {
				t.Errorf("%s: got %v, want ErrAhead with the numbers", call, err)
			}
		}
		if n := count(t, db, "flakepass_migrations"); n != steps+1 {
			t.Errorf("%d migrations are recorded, want %d as before", n, steps+1)
		}
		states, err := migrations.Status(t.Context(), db, d.dialect)
		if err != nil || len(states) != steps+1 || states[steps].Number != int64(known+2) || states[steps].Name != "" {
			t.Errorf("status: got %v, %v; want number %d without a name at the end", states, err, known+2)
		}
	})
}

// No run of flakepass has begun the step that makes this table, so it is somebody else's.
func TestHalfFailedMigrationIsNamedAndCanGoOn(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db := d.open(t)
		mustExec(t, db, "CREATE TABLE settings (scope INT)")

		applied, err := migrations.Up(t.Context(), db, d.dialect, nil)
		if diff := cmp.Diff(namesOf(applied), names[:1]); diff != "" {
			t.Errorf("applied before the failure: -got +want\n%s", diff)
		}
		if err == nil {
			t.Fatal("up succeeded over a table of the same name")
		}
		t.Log(err)
		want := []string{"up: 00002_settings failed", "already exists", "cut off, remove by hand"}
		if d.dialect == migrations.SQLite {
			want[2] = "left nothing behind"
		}
		for _, text := range want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("the error does not say %q: %v", text, err)
			}
		}
		if err := migrations.Check(t.Context(), db, d.dialect); !errors.Is(err, migrations.ErrBehind) {
			t.Errorf("check: got %v, want ErrBehind", err)
		}
		if _, err := migrations.Up(t.Context(), db, d.dialect, nil); err == nil {
			t.Fatal("the second up has adopted a table of somebody else")
		}

		mustExec(t, db, "DROP TABLE settings")
		if diff := cmp.Diff(namesOf(mustUp(t, db, d.dialect)), names[1:]); diff != "" {
			t.Errorf("applied after the repair: -got +want\n%s", diff)
		}
	})
}

func TestDownGoesOnAfterAKill(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db := d.open(t)
		mustUp(t, db, d.dialect)
		above := len(names) - 1 - slices.Index(names, "deployment") // steps on top of the one that made the table
		if _, err := migrations.Down(t.Context(), db, d.dialect, above, nil); err != nil {
			t.Fatal(err)
		}
		mustExec(t, db, "DROP TABLE deployment") // and killed before the record went
		if _, err := migrations.Down(t.Context(), db, d.dialect, 1, nil); err != nil {
			t.Fatal(err)
		}
		mustUp(t, db, d.dialect)
		count(t, db, "deployment")
	})
}

// Of two processes that apply a file to SQLite at once, the second is undone by
// this, also where its statements could run twice.
func TestNothingIsRecordedTwice(t *testing.T) {
	onEach(t, func(t *testing.T, d database) {
		db := d.open(t)
		mustUp(t, db, d.dialect)
		_, err := db.ExecContext(t.Context(), "INSERT INTO flakepass_migrations (number, applied_at) VALUES (1, 1)")
		if err == nil {
			t.Error("migration 1 is recorded twice")
		}
	})
}

func TestUnknownDialectIsRefused(t *testing.T) {
	if _, err := migrations.Up(context.Background(), nil, "postgres", nil); err == nil {
		t.Error("up with dialect postgres: no error")
	}
}

func BenchmarkUpToDate(b *testing.B) {
	for name, fresh := range kinds {
		b.Run(name, func(b *testing.B) {
			d := fresh(b)
			db := d.open(b)
			mustUp(b, db, d.dialect)
			for b.Loop() {
				mustUp(b, db, d.dialect)
			}
		})
	}
}

func TestBenchmarksRun(t *testing.T) { testenv.Benchmarks(t) }
