//go:build unix

package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/proof/accounttest"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
)

const nodeHash = "$2b$04$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"

// importing is an import into w; rejected gets what was not taken.
func (w *world) importing(t *testing.T, rejected *[]string) *operator.Import {
	t.Helper()
	hasher, err := account.NewHasher(account.Here{}, account.DefaultParams(), 2, 64) // the cheap one cannot tell whether a row has a digest
	if err != nil {
		t.Fatal(err)
	}
	return &operator.Import{
		Store: w.users, Formats: &sqlstore.HashFormats{DB: w.DB}, Hasher: hasher, IDs: w.ids, Now: time.Now, Source: "users.ndjson", Reason: "moving",
		Reject: func(r operator.Rejected) {
			for _, f := range r.Fields {
				*rejected = append(*rejected, fmt.Sprintf("%d %s %s", r.Line, f.Field, f.Code))
			}
		},
	}
}

// some are lines about users of another system, of all kinds.
func some() []operator.Incoming {
	lines := []operator.Incoming{
		{Username: "Ada", ExternalID: "1", Hash: nodeHash, Created: time.Unix(1_500_000_000, 0)},
		{Username: "bob", Hash: "md5$salt$5f4dcc3b5aa765d61d8327deb882cf99", Role: "admin", Disabled: true, Created: time.Unix(1_600_000_000, 0)},
		{Username: "carol"},
		{Username: "no name"},
		{Username: "dave", Hash: "$2b$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"},
		{Username: "erin", ExternalID: "1", Hash: nodeHash},
		{Username: "ADA", ExternalID: "1", Hash: nodeHash, Created: time.Unix(1_500_000_000, 0)}, // the first one again
		{Username: "carol", Role: "service"},
		{Bad: errors.New("garbage")},
		{Username: "frank", Role: "king", ExternalID: " x", Created: time.Now().Add(time.Hour)},
		{Username: "grace", Hash: "!", ExternalID: "ABC"}, {Username: "heidi", ExternalID: "abc"},
	}
	for i := range 2100 { // three batches
		lines = append(lines, operator.Incoming{Username: fmt.Sprintf("person%d", i), ExternalID: fmt.Sprintf("p%d", i), Hash: nodeHash})
	}
	for i := range lines {
		lines[i].Line = i + 1
	}
	return append(lines, operator.Incoming{Line: 9999, Username: "person0", ExternalID: "p0", Hash: strings.Replace(nodeHash, "04", "05", 1)})
}

var someRejected = []string{
	"4 username invalid_characters", "5 password_hash cost_out_of_bounds", "6 username conflict", "8 role conflict", "9 line malformed",
	"10 external_id invalid_characters", "10 role unknown_value", "10 created out_of_range", "9999 password_hash conflict",
}

// TestImportTwiceChangesNothing: a bad line and one in conflict spoil no other one, a dry run
// says the same and adds nobody, and what is here is not changed.
func TestImportTwiceChangesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		run := func(dry bool, lines []operator.Incoming, want operator.Imported, refused []string) {
			t.Helper()
			var rejected []string
			im := w.importing(t, &rejected)
			im.DryRun = dry
			got, err := im.Run(t.Context(), shell, slices.Values(lines))
			if err != nil || got != want || refused != nil && !slices.Equal(rejected, refused) {
				t.Errorf("dry %v: %+v, %v, rejected %q", dry, got, err, rejected)
			}
		}
		n := int64(2113)
		first := operator.Imported{Lines: n, Added: 2105, Present: 1, Conflicts: 3, Bad: 4}
		dry := slices.Clone(someRejected) // a dry run knows what a line before had, and not which of it differs
		dry[len(dry)-1] = "9999 username conflict"
		run(true, some(), first, dry)
		if n := w.number(t, "SELECT (SELECT COUNT(*) FROM users) + (SELECT COUNT(*) FROM audit_events) + (SELECT COUNT(*) FROM hash_formats)"); n != 0 {
			t.Errorf("a dry run has written %d rows", n)
		}
		run(false, some(), first, someRejected)
		again := operator.Imported{Lines: n, Present: 2106, Conflicts: 3, Bad: 4}
		run(false, some(), again, someRejected)
		run(true, some(), again, someRejected)
		if n := w.number(t, "SELECT COUNT(*) FROM users"); n != 2105 {
			t.Errorf("%d users", n)
		}
		ada, err := w.users.ByUsername(t.Context(), "ada")
		if err != nil || ada.ExternalID != "1" || ada.PasswordHash.Reveal() != nodeHash || !ada.BroughtPassword() || ada.CreatedAt.Unix() != 1_500_000_000 || ada.Role != account.RoleUser {
			t.Errorf("%+v, %v", ada, err)
		}
		bob, err := w.users.ByUsername(t.Context(), "bob")
		if err != nil || !bob.Disabled() || bob.Role != account.RoleAdmin || !strings.HasPrefix(bob.PasswordHash.Reveal(), "$over-md5$before$c2FsdA$argon2id$") || bob.ExternalID != "" {
			t.Errorf("%+v, %v", bob, err)
		}
		carol, err := w.users.ByUsername(t.Context(), "carol")
		if err != nil || !carol.PasswordHash.IsZero() || carol.BroughtPassword() {
			t.Errorf("%+v, %v", carol, err)
		}
		if n := w.number(t, "SELECT COUNT(*) FROM audit_events WHERE action = 'user.import_begun' OR action = 'user.imported'"); n != 2 {
			t.Errorf("%d events, want those of the one run that has added somebody", n)
		}
		// Ada logs in, and an operator disables another one.
		ours, err := accounttest.NewHasher(t).Hash(t.Context(), account.Asker{}, account.NewPassword("U*U"))
		if err == nil {
			err = w.users.Rehash(t.Context(), ada.ID, 1, ours)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.run(t, "UPDATE users SET disabled_at = 1 WHERE username = 'person7'")
		after := operator.Imported{Lines: n, Present: 2105, Conflicts: 4, Bad: 4}
		run(false, some(), after, slices.Insert(slices.Clone(someRejected), len(someRejected)-1, "20 disabled conflict"))
	})
}

// TestTwoImportsAtOnce: each user is added once.
func TestTwoImportsAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var done [2]operator.Imported
		var errs [2]error
		atOnce(2, func(i int) {
			var rejected []string
			done[i], errs[i] = w.importing(t, &rejected).Run(t.Context(), shell, slices.Values(some()))
		})
		if errs != [2]error{} || done[0].Added+done[1].Added != 2105 || done[0].Added+done[0].Present != 2106 || done[1].Added+done[1].Present != 2106 {
			t.Errorf("%+v, %v", done, errs)
		}
		if n := w.number(t, "SELECT COUNT(*) FROM users"); n != 2105 {
			t.Errorf("%d users", n)
		}
	})
}

// TestBatchIsAllOrNothing: a taken name or external ID adds nobody, and leaves no event.
func TestBatchIsAllOrNothing(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		user := func(name, externalID string) account.User {
			return account.User{ID: w.ids.next(0), Username: name, ExternalID: externalID, Role: account.RoleUser, PasswordVersion: 1, CreatedAt: time.Now(), UpdatedAt: time.Now()}
		}
		event := func() audit.Event {
			return audit.Event{ID: w.ids.next(0), By: shell, Need: audit.NeedsAdmin, Action: audit.ImportBegun}
		}
		if err := w.users.AddAll(t.Context(), shell, audit.NeedsAdmin, []account.User{user("ada", "1"), user("bob", "")}, event()); err != nil {
			t.Fatal(err)
		}
		for _, taken := range []account.User{user("ada", ""), user("eve", "1")} {
			err := w.users.AddAll(t.Context(), shell, audit.NeedsAdmin, []account.User{user("carol", "3"), taken}, event())
			if !errors.Is(err, account.ErrExists) {
				t.Errorf("%+v: %v", taken, err)
			}
		}
		if n := w.number(t, "SELECT 100 * (SELECT COUNT(*) FROM users) + (SELECT COUNT(*) FROM audit_events)"); n != 201 {
			t.Errorf("%d: want two users and an event", n)
		}
		known, err := w.users.Known(t.Context(), []string{"ada", "nobody"}, []string{"1", "2"})
		if err != nil || len(known) != 1 || known[0].Username != "ada" {
			t.Errorf("%+v, %v", known, err)
		}
		if known, err := w.users.Known(t.Context(), nil, []string{"1"}); err != nil || len(known) != 1 {
			t.Errorf("%+v, %v", known, err)
		}
		// Users without an external ID are not one and the same.
		if err := w.users.AddAll(t.Context(), shell, audit.NeedsAdmin, []account.User{user("x11", ""), user("x12", "")}); err != nil {
			t.Error(err)
		}
	})
}

// TestImportNeedsRights: who adds users with a role proves who it is, as for each of them
// alone.
func TestImportNeedsRights(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		by := acts(w.begin(t, w.user(t, "mallory")))
		var rejected []string
		done, err := w.importing(t, &rejected).Run(t.Context(), by, slices.Values([]operator.Incoming{{Line: 1, Username: "ada", Role: "admin"}}))
		if !errors.Is(err, audit.ErrRole) || done.Added != 0 {
			t.Errorf("%+v, %v", done, err)
		}
		if n := w.number(t, "SELECT COUNT(*) FROM users WHERE username = 'ada'"); n != 0 {
			t.Error("the user was added")
		}
	})
}

// TestFormatsAreCounted: after an import, and after logins since; what an import has left
// that did not end is found, too.
func TestFormatsAreCounted(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		h := accounttest.NewHasher(t)
		f := &sqlstore.HashFormats{DB: w.DB}
		counts := func() string {
			all, err := f.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, c := range account.MostCommon(all) {
				lines = append(lines, fmt.Sprintf("%s %d %d", c.Format, c.Imported, c.Users))
			}
			return strings.Join(lines, ", ")
		}
		if counts() != "" {
			t.Errorf("before any import: %s", counts())
		}
		for range 2 {
			if err := f.Begin(t.Context()); err != nil || counts() != " 0 0" {
				t.Errorf("%s, %v", counts(), err)
			}
		}
		add := func(id idworker.ID, hash string) {
			w.run(t, fmt.Sprintf("INSERT INTO users (id, username, password_hash, role, created_at, updated_at) VALUES (%d, 'u%d', '%s', 'user', 1, 1)", id, id, hash))
		}
		for i := range idworker.ID(4) {
			add(i+1, nodeHash)
		}
		add(9, "")
		for i, step := range []struct {
			change   string
			imported bool
			want     string
		}{
			{"", false, " 5 5, $2b$04$ 4 4"}, // of an import that did not end
			{"UPDATE users SET password_hash = '' WHERE id = 1", false, " 5 5, $2b$04$ 4 3"},
			{"UPDATE users SET password_hash = 'damaged' WHERE id = 2", false, " 5 5, $2b$04$ 4 2"},
			{"UPDATE users SET password_hash = ''", false, " 5 5, $2b$04$ 4 0"},
			{"UPDATE users SET password_hash = '" + nodeHash + "' WHERE id = 1", true, " 5 5, $2b$04$ 1 1"},
		} {
			if step.change != "" {
				w.run(t, step.change)
			}
			if _, err := f.Count(t.Context(), h.Format, step.imported); err != nil || counts() != step.want {
				t.Errorf("step %d: %s, %v, want %s", i, counts(), err, step.want)
			}
		}
		if ago, err := f.Hours(t.Context()); err != nil || ago < 0 || ago > 1 {
			t.Errorf("%v hours, %v", ago, err)
		}
		w.run(t, "UPDATE hash_formats SET counted_at = counted_at - 7200000")
		if ago, err := f.Hours(t.Context()); err != nil || ago < 2 || ago > 3 {
			t.Errorf("%v hours, %v", ago, err)
		}
	})
}

// TestUpgradesAreNoImport: an account whose hash has become ours leaves the shares of the last import
// as they are. Otherwise a name that no account has could go from one foreign format to another.
// What a sweep has begun to count before an import ended is not kept.
func TestUpgradesAreNoImport(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		h := accounttest.NewHasher(t)
		ours, err := h.Hash(t.Context(), account.Asker{}, account.NewPassword("brave tin goats"))
		must(t, err)
		f := &sqlstore.HashFormats{DB: w.DB}
		must(t, f.Begin(t.Context()))
		for id := range 4 {
			w.run(t, fmt.Sprintf("INSERT INTO users (id, username, password_hash, role, created_at, updated_at) VALUES (%d, 'u%d', '%s', 'user', 1, 1)", id+1, id, nodeHash))
		}
		imported := func(counts []account.FormatCount) (n int64) {
			for _, c := range counts {
				if strings.HasPrefix(c.Format, "$2b$") {
					n = c.Imported
				}
			}
			return n
		}
		if all, err := f.Count(t.Context(), h.Format, true); err != nil || imported(all) != 4 {
			t.Fatalf("%+v, %v", all, err)
		}
		w.run(t, "UPDATE users SET password_hash = '"+ours.Reveal()+"' WHERE id = 1")
		if all, err := f.Count(t.Context(), h.Format, false); err != nil || imported(all) != 4 {
			t.Errorf("after the first upgrade: %+v, %v", all, err)
		}
		w.run(t, "UPDATE hash_formats SET counted_at = counted_at - 1000")
		during := false
		all, err := f.Count(t.Context(), func(p account.PHC) string {
			if !during {
				during = true
				_, err := f.Count(t.Context(), func(account.PHC) string { return "$2b$05$" }, true)
				must(t, err)
			}
			return h.Format(p)
		}, false)
		if err != nil || len(all) == 0 || !slices.ContainsFunc(all, func(c account.FormatCount) bool { return c.Format == "$2b$05$" && c.Users == 4 }) {
			t.Errorf("beside an import: %+v, %v", all, err)
		}
	})
}
