package operator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/proof/accounttest"
)

// A shelf keeps what is imported, and says what was asked of it.
type shelf struct {
	rows    []account.User
	events  []audit.Event
	needs   []audit.Need
	log     []string
	sizes   []int
	fails   func(batch int) error // before a batch is added
	last    idworker.ID
	counted bool
}

func (s *shelf) Known(_ context.Context, names, externalIDs []string) (found []account.User, err error) {
	s.log = append(s.log, "look")
	for _, u := range s.rows {
		aliased := slices.ContainsFunc(u.Aliases, func(alias string) bool { return slices.Contains(names, alias) })
		if aliased || slices.Contains(names, u.Username) || slices.Contains(externalIDs, u.ExternalID) {
			found = append(found, u)
		}
	}
	return found, nil
}

func (s *shelf) AddAll(_ context.Context, _ audit.Actor, need audit.Need, users []account.User, events ...audit.Event) error {
	if s.fails != nil {
		if err := s.fails(len(s.sizes)); err != nil {
			return err
		}
	}
	for _, u := range users {
		if slices.ContainsFunc(s.rows, func(r account.User) bool {
			names := append([]string{r.Username}, r.Aliases...)
			taken := slices.ContainsFunc(append([]string{u.Username}, u.Aliases...), func(name string) bool { return slices.Contains(names, name) })
			return taken || r.ExternalID != "" && r.ExternalID == u.ExternalID
		}) {
			return account.ErrExists
		}
	}
	s.log, s.rows, s.events = append(s.log, "add"), append(s.rows, users...), append(s.events, events...)
	s.needs, s.sizes = append(s.needs, need), append(s.sizes, len(users))
	return nil
}

func (s *shelf) Record(_ context.Context, events ...audit.Event) error {
	s.log, s.events = append(s.log, "record"), append(s.events, events...)
	return nil
}

func (s *shelf) List(_ context.Context, after idworker.ID, limit int) (page []account.User, err error) {
	s.log = append(s.log, "list")
	for _, u := range s.rows {
		if u.ID > after && len(page) < limit {
			page = append(page, u)
		}
	}
	return page, nil
}

func (s *shelf) Begin(context.Context) error { s.log = append(s.log, "begin"); return nil }

func (s *shelf) Count(_ context.Context, formatOf func(account.PHC) string, imported bool) ([]account.FormatCount, error) {
	s.counted = imported && formatOf(account.PHC{}) == ""
	return nil, nil
}

func (s *shelf) Next(context.Context) (idworker.ID, error) { s.last++; return s.last, nil }

func (s *shelf) importing(t *testing.T) *operator.Import {
	t.Helper()
	return &operator.Import{Store: s, Formats: s, Hasher: accounttest.NewHasher(t), IDs: s, Now: func() time.Time { return now }, Source: "f.csv", Reason: "moved"}
}

func people(n int, role string) (lines []operator.Incoming) {
	for i := range n {
		lines = append(lines, operator.Incoming{Line: i + 1, Username: fmt.Sprintf("person%d", i), Role: role, Created: now.Add(-time.Hour)})
	}
	return lines
}

// TestImportIsRecorded: its begin with the first users, what came of it in the end, and
// nothing where nobody was added. Between them no name is looked up that nobody has.
func TestImportIsRecorded(t *testing.T) {
	s := &shelf{}
	done, err := s.importing(t).Run(t.Context(), by, slices.Values(people(2500, "")))
	if err != nil || done != (operator.Imported{Lines: 2500, Added: 2500}) || !slices.Equal(s.sizes, []int{1000, 1000, 500}) || !s.counted {
		t.Fatalf("%+v, %v, batches of %v", done, err, s.sizes)
	}
	if want := []string{"look", "begin", "add", "add", "add", "record"}; !slices.Equal(s.log, want) {
		t.Errorf("%v, want %v", s.log, want)
	}
	var got []string
	for _, e := range s.events {
		got = append(got, fmt.Sprintf("%s %s %s %d", e.Action, e.New, e.Reason, e.Need))
	}
	if want := []string{
		fmt.Sprintf(`user.import_begun {"file":"f.csv"} moved %d`, audit.NeedsAdmin),
		fmt.Sprintf(`user.imported {"file":"f.csv","lines":2500,"added":2500,"present":0,"conflicts":0,"bad":0} moved %d`, audit.NeedsAdmin),
	}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	s.events, s.log = nil, nil
	done, err = s.importing(t).Run(t.Context(), by, slices.Values(people(2500, "")))
	if err != nil || done != (operator.Imported{Lines: 2500, Present: 2500}) || len(s.events) != 0 {
		t.Errorf("again: %+v, %v, events %v", done, err, s.events)
	}
	if want := []string{"look", "look", "look"}; !slices.Equal(s.log, want) {
		t.Errorf("again: %v, want %v", s.log, want)
	}
	for _, reason := range []string{strings.Repeat("x", 1001), "a\x1b"} {
		im := s.importing(t)
		im.Reason = reason
		if _, err := im.Run(t.Context(), by, slices.Values(people(1, ""))); err == nil {
			t.Error("the reason was accepted")
		}
	}
}

// TestImportOfARoleNeedsAProof: as to make one such account does.
func TestImportOfARoleNeedsAProof(t *testing.T) {
	for role, need := range map[string]audit.Need{"": audit.NeedsAdmin, "user": audit.NeedsAdmin, "service": audit.NeedsProof, "admin": audit.NeedsProof} {
		s := &shelf{}
		lines := append(people(3, ""), operator.Incoming{Line: 4, Username: "last.one", Role: role})
		if _, err := s.importing(t).Run(t.Context(), by, slices.Values(lines)); err != nil || !slices.Equal(s.needs, []audit.Need{need}) || s.events[0].Need != need {
			t.Errorf("%q: %v, needs %v", role, err, s.needs)
		}
		created := 0
		for _, e := range s.events {
			if e.Action == audit.UserCreated && e.Target.Name == "last.one" && e.Need == need {
				created++
			}
		}
		if want := map[audit.Need]int{audit.NeedsProof: 1}[need]; created != want {
			t.Errorf("%q: %d events of a user who was created, want %d", role, created, want)
		}
	}
}

// TestStoppedImportSaysWhatItHasDone: what was added stays, and is in the record.
func TestStoppedImportSaysWhatItHasDone(t *testing.T) {
	broken := errors.New("disk full")
	s := &shelf{fails: func(batch int) error {
		if batch == 1 {
			return broken
		}
		return nil
	}}
	done, err := s.importing(t).Run(t.Context(), by, slices.Values(people(2500, "")))
	if !errors.Is(err, broken) || done.Added != 1000 || len(s.rows) != 1000 || len(s.events) != 2 || !strings.Contains(string(s.events[1].New), `"added":1000`) {
		t.Errorf("%+v, %v, events %v", done, err, s.events)
	}
	s.fails = nil
	ctx, cancel := context.WithCancel(t.Context())
	done, err = s.importing(t).Run(ctx, by, func(yield func(operator.Incoming) bool) {
		for i, in := range people(9999, "") {
			if i == 5000 {
				cancel()
			}
			if !yield(in) {
				return
			}
		}
	})
	if !errors.Is(err, context.Canceled) || done.Added > 4000 {
		t.Errorf("%+v, %v", done, err)
	}
	done, err = s.importing(t).Run(t.Context(), by, slices.Values(people(2500, "")))
	if err != nil || done.Added+done.Present != 2500 || len(s.rows) < 2500 {
		t.Errorf("%+v, %v", done, err)
	}
	// Somebody registers between the look and the transaction, time after time.
	s.fails = func(int) error { return account.ErrExists }
	if _, err := s.importing(t).Run(t.Context(), by, slices.Values([]operator.Incoming{{Line: 1, Username: "latecomer"}})); !errors.Is(err, account.ErrExists) {
		t.Errorf("%v", err)
	}
}

// TestImportLeavesNoGoroutine: also where it fails while lines are read.
func TestImportLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{fails: func(int) error { return errors.New("no") }}
		if _, err := s.importing(t).Run(t.Context(), by, slices.Values(people(9999, ""))); err == nil {
			t.Error("it has worked")
		}
	})
}

// TestImportThatWaitsForLinesCanBeStopped: they may come from a program that stands still, and what was added
// is in the record.
func TestImportThatWaitsForLinesCanBeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, more := &shelf{}, make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := s.importing(t).Run(ctx, by, func(yield func(operator.Incoming) bool) {
				for _, in := range people(1500, "") {
					if !yield(in) {
						return
					}
				}
				<-more
			})
			ended <- err
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) || len(s.rows) != 1000 || len(s.events) != 2 {
				t.Errorf("%v, %d users, events %v", err, len(s.rows), s.events)
			}
		default:
			t.Error("it waits for lines")
		}
		close(more)
		synctest.Wait()
	})
}

// TestExportOfHashesIsRecordedFirst: whoever has hashes can guess at passwords.
func TestExportOfHashesIsRecordedFirst(t *testing.T) {
	s := &shelf{}
	for i := range 2001 {
		s.rows = append(s.rows, account.User{ID: idworker.ID(i + 1), Username: fmt.Sprintf("p%d", i), PasswordHash: account.NewPHC("$hash$")})
	}
	s.last = 9999
	for _, hashes := range []bool{false, true} {
		s.log, s.events = nil, nil
		x := &operator.Export{Store: s, IDs: s}
		users, err := x.Users(t.Context(), by, hashes, "backup")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for u, err := range users {
			if n++; err != nil || u.PasswordHash.IsZero() == hashes || int(u.ID) != n {
				t.Fatalf("%d: %+v, %v", n, u, err)
			}
		}
		want := []string{"list", "list", "list"}
		if hashes {
			want = append([]string{"record"}, want...)
		}
		if n != 2001 || !slices.Equal(s.log, want) || hashes && (s.events[0].Action != audit.HashesExported || s.events[0].Need != audit.NeedsProof || s.events[0].Reason != "backup") {
			t.Errorf("hashes %v: %d users, %v, %+v", hashes, n, s.log, s.events)
		}
	}
	if _, err := (&operator.Export{Store: s, IDs: s}).Users(t.Context(), by, true, "a\x1b"); err == nil {
		t.Error("the reason was accepted")
	} else if _, ok := errors.AsType[*invalid.Error](err); !ok {
		t.Error(err)
	}
}

// TestAnotherPersonOfTheSameName: whoever has a name here already, and is not known to be the
// same person, is in conflict with the line, also if a login has made the hash ours.
func TestAnotherPersonOfTheSameName(t *testing.T) {
	ours := account.NewPHC("$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8")
	const theirs = "$2b$04$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"
	born := now.Add(-time.Hour)
	for name, c := range map[string]struct {
		here account.User
		line operator.Incoming
		same bool
	}{
		"nothing says so":       {account.User{}, operator.Incoming{}, false},
		"another external ID":   {account.User{ExternalID: "1"}, operator.Incoming{ExternalID: "2"}, false},
		"made at another time":  {account.User{}, operator.Incoming{Created: born.Add(time.Second)}, false},
		"the same external ID":  {account.User{ExternalID: "1"}, operator.Incoming{ExternalID: "1"}, true},
		"made at the same time": {account.User{}, operator.Incoming{Created: born}, true},
	} {
		c.here.ID, c.here.Username, c.here.Role, c.here.PasswordHash, c.here.CreatedAt = 1, "alice", account.RoleUser, ours, born
		c.line.Line, c.line.Username, c.line.Hash = 1, "alice", theirs
		s := &shelf{rows: []account.User{c.here}}
		done, err := s.importing(t).Run(t.Context(), by, slices.Values([]operator.Incoming{c.line}))
		if err != nil || (done.Present == 1) != c.same || (done.Conflicts == 1) == c.same || len(s.rows) != 1 {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
}

// TestImportOfAliases: they are kept in their one form, and a line whose alias somebody else has,
// or with others than the user has, is in conflict. A dry run says the same as one that adds.
func TestImportOfAliases(t *testing.T) {
	lines := []operator.Incoming{
		{Line: 1, Username: "alice", Aliases: []string{"Alice@Example.org", "+4915112345678", "alice@example.org"}},
		{Line: 2, Username: "bob", Aliases: []string{"alice@example.org"}},
		{Line: 3, Username: "carol@example.org", Aliases: []string{"carol@example.org"}},
		{Line: 4, Username: "dave", Aliases: []string{"carol@example.org"}},
		{Line: 5, Username: "Alice@Example.org"},
		{Line: 6, Username: "eve", Aliases: []string{"no address"}},
		{Line: 7, Username: "alice", Aliases: []string{"+4915112345678"}},
		{Line: 8, Username: "alice", Aliases: []string{"+4915112345678", "alice@example.org"}},
		{Line: 9, Username: "alice"},
		{Line: 10, Username: "frank", Aliases: []string{"late@example.org"}},
	}
	want := []string{"2 aliases conflict", "4 aliases conflict", "5 username conflict", "6 aliases invalid_characters", "7 aliases conflict"}
	for _, apart := range []bool{false, true} { // in one batch, or each in another
		for _, dry := range []bool{true, false} {
			s := &shelf{}
			var rejected []string
			im := s.importing(t)
			im.DryRun = dry
			im.Reject = func(r operator.Rejected) {
				if r.Line > 0 {
					rejected = append(rejected, fmt.Sprintf("%d %s %s", r.Line, r.Fields[0].Field, r.Fields[0].Code))
				}
			}
			all := lines
			if apart {
				all = nil
				for i, in := range lines {
					all = append(all, in)
					for n := range 999 {
						all = append(all, operator.Incoming{Username: fmt.Sprintf("%d.of.%d", n, i)})
					}
				}
			}
			done, err := im.Run(t.Context(), by, slices.Values(all))
			if err != nil || done.Added-done.Lines+int64(len(lines)) != 3 || done.Present != 2 || !slices.Equal(rejected, want) {
				t.Errorf("apart %v, dry %v: %+v, %v, rejected %q", apart, dry, done, err, rejected)
			}
			if dry {
				continue
			}
			for _, u := range s.rows {
				if aliases := map[string][]string{"alice": {"+4915112345678", "alice@example.org"}, "frank": {"late@example.org"}, "carol@example.org": {"carol@example.org"}}[u.Username]; !slices.Equal(u.Aliases, aliases) {
					t.Errorf("%s has %q", u.Username, u.Aliases)
				}
			}
			if s.needs[0] != audit.NeedsProof {
				t.Errorf("needs %v, want what a change of aliases needs", s.needs)
			}
		}
	}
}
