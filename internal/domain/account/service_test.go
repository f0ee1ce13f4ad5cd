package account_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/proof/accounttest"
)

const goodPassword = "brave tin goats on the hill"

var now = time.Date(2026, 5, 6, 7, 8, 9, 123_456_789, time.FixedZone("", 3600))

func newService(t *testing.T) (*account.Service, *store) {
	users := &store{}
	return &account.Service{Users: users, Hasher: account.NewCheapHasher(t, account.CheapParams, 4, 1000), IDs: new(counter), Now: func() time.Time { return now }}, users
}

func register(t *testing.T, s *account.Service, name string) account.User {
	t.Helper()
	u, err := accounttest.Register(t.Context(), s, s.Users.(*store), name, account.NewPassword(goodPassword), account.RoleUser)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// authenticate finds the user and checks the password, as a login does.
func authenticate(s *account.Service, ctx context.Context, by account.Asker, name string, p account.Password) (account.User, error) {
	found, err := s.Find(ctx, name)
	if err != nil {
		return account.User{}, err
	}
	return s.Authenticate(ctx, by, found, p)
}

func TestRegisterThenAuthenticate(t *testing.T) {
	s, _ := newService(t)
	made := register(t, s, "Alice")
	if made.Username != "alice" || made.ID != 1 || made.Role != account.RoleUser || made.PasswordVersion != 1 || made.Disabled() {
		t.Errorf("registered %+v", made)
	}
	if want := now.UTC().Truncate(time.Millisecond); made.CreatedAt != want || made.UpdatedAt != want {
		t.Errorf("created %v, updated %v, want %v", made.CreatedAt, made.UpdatedAt, want)
	}
	for _, name := range []string{"alice", "ALICE", "ａｌｉｃｅ"} {
		got, err := authenticate(s, t.Context(), account.Asker{}, name, account.NewPassword(goodPassword))
		if err != nil || got.ID != made.ID {
			t.Errorf("Authenticate(%q) = %v, %v", name, got.ID, err)
		}
	}
	if err := s.VerifyPassword(t.Context(), account.Asker{}, made, account.NewPassword(goodPassword)); err != nil {
		t.Errorf("VerifyPassword: %v", err)
	}
}

func TestRegisterNamesEveryProblem(t *testing.T) {
	s, users := newService(t)
	s.Hasher.Observe(true, func(string) { t.Error("hashed") })
	_, err := s.New(t.Context(), account.Asker{}, "al ice", account.NewPassword("short"), "root")
	bad, ok := errors.AsType[*invalid.Error](err)
	if !ok {
		t.Fatalf("error %v, want an invalid.Error", err)
	}
	var got []string
	for _, f := range bad.Fields {
		got = append(got, f.Field+" "+f.Code)
	}
	if want := []string{"username invalid_characters", "password too_short", "role unknown_value"}; !slices.Equal(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
	if users.lookups.Load() != 0 {
		t.Error("the store was asked")
	}
	if _, err := s.New(t.Context(), account.Asker{}, "ＡＬＩＣＥ", account.NewPassword("the cat of alice sleeps"), account.RoleUser); code(t, err, "password") != "contains_username" {
		t.Errorf("the password is not compared with the normalised name: %v", err)
	}
}

func TestTakenNameIsRefusedBeforeHashing(t *testing.T) {
	s, _ := newService(t)
	register(t, s, "alice")
	s.Hasher.Observe(true, func(string) { t.Error("hashed") })
	if _, err := s.New(t.Context(), account.Asker{}, "ALICE", account.NewPassword(goodPassword), account.RoleUser); !errors.Is(err, account.ErrExists) {
		t.Errorf("New: %v, want ErrExists", err)
	}
}

// What an attacker can time is the lookup and the hash. Every failure does one
// of each, at the same cost.
func TestEveryFailureDoesTheSameWork(t *testing.T) {
	s, users := newService(t)
	register(t, s, "alice")
	users.Change(register(t, s, "carol").ID, func(u *account.User) { u.DisabledAt = now })
	users.Change(register(t, s, "nopass").ID, func(u *account.User) { u.PasswordHash = account.PHC{} })
	var work []string
	s.Hasher.Observe(true, func(phc string) {
		work = append(work, phc[:strings.LastIndexByte(phc[:strings.LastIndexByte(phc, '$')], '$')])
	})
	want := []string{"$argon2id$v=19$m=64,t=1,p=1"}
	for _, c := range []struct {
		name, username, password string
		err                      error
	}{
		{"wrong password", "alice", "not the password", account.ErrWrong},
		{"unknown name", "nobody", goodPassword, account.ErrWrong},
		{"no name at all", "no such\x00name", goodPassword, account.ErrWrong},
		{"empty name", "", goodPassword, account.ErrWrong},
		{"mixed scripts", "\u0430lice", goodPassword, account.ErrWrong},
		{"no password kept", "nopass", goodPassword, account.ErrWrong},
		{"no password kept, none given", "nopass", "", account.ErrWrong},
		{"empty password", "alice", "", account.ErrWrong},
		{"disabled, wrong password", "carol", "not the password", account.ErrWrong},
		{"disabled, right password", "carol", goodPassword, account.ErrDisabled},
	} {
		work = nil
		users.lookups.Store(0)
		u, err := authenticate(s, t.Context(), account.Asker{}, c.username, account.NewPassword(c.password))
		if !errors.Is(err, c.err) || u.ID != 0 {
			t.Errorf("%s: %v, %v, want %v", c.name, u.ID, err, c.err)
		}
		if errors.Is(c.err, account.ErrWrong) && (errors.Is(err, account.ErrNotFound) || err.Error() != "account: authenticate: wrong name or password") {
			t.Errorf("%s: the error says more: %v", c.name, err)
		}
		if !slices.Equal(work, want) || users.lookups.Load() != 1 {
			t.Errorf("%s: hashes %v and %d lookups, want %v and 1", c.name, work, users.lookups.Load(), want)
		}
	}
}

func TestOverlongPasswordIsNotHashed(t *testing.T) {
	s, users := newService(t)
	u := register(t, s, "alice")
	s.Hasher.Observe(true, func(string) { t.Error("hashed") })
	users.lookups.Store(0)
	for _, p := range []string{strings.Repeat("x", 257), strings.Repeat("é", 257), strings.Repeat("x", 1<<20)} {
		for _, name := range []string{"alice", "nobody"} {
			if _, err := s.Authenticate(t.Context(), account.Asker{}, account.Found{User: u, Name: name}, account.NewPassword(p)); !errors.Is(err, account.ErrWrong) {
				t.Errorf("Authenticate: %v, want ErrWrong", err)
			}
		}
		if err := s.VerifyPassword(t.Context(), account.Asker{}, u, account.NewPassword(p)); !errors.Is(err, account.ErrWrong) {
			t.Errorf("VerifyPassword: %v, want ErrWrong", err)
		}
	}
	if users.lookups.Load() != 0 {
		t.Error("the store was asked")
	}
}

func TestRehashOnSuccessOnly(t *testing.T) {
	s, users := newService(t)
	u := register(t, s, "alice")
	d := register(t, s, "carol")
	users.Change(d.ID, func(u *account.User) { u.DisabledAt = now })
	s.Hasher = account.NewCheapHasher(t, account.Params{MemoryKiB: 64, Iterations: 2, Parallelism: 1}, 1, 0)

	_, _ = authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword("wrong"))
	_, _ = authenticate(s, t.Context(), account.Asker{}, "carol", account.NewPassword(goodPassword))
	for _, before := range []account.User{u, d} {
		if after, _ := users.ByID(t.Context(), before.ID); !after.PasswordHash.Equal(before.PasswordHash) {
			t.Errorf("%s: a refused login renewed the hash", before.Username)
		}
	}

	got, err := authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword(goodPassword))
	if err != nil {
		t.Fatal(err)
	}
	after, _ := users.ByID(t.Context(), u.ID)
	if !strings.Contains(after.PasswordHash.Reveal(), "t=2") || !after.PasswordHash.Equal(got.PasswordHash) || after.PasswordVersion != 1 {
		t.Errorf("kept %s at version %d", after.PasswordHash.Reveal(), after.PasswordVersion)
	}
	if _, err := authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword(goodPassword)); err != nil {
		t.Errorf("login with the renewed hash: %v", err)
	}
}

func TestFailedRehashDoesNotFailTheLogin(t *testing.T) {
	s, users := newService(t)
	u := register(t, s, "alice")
	users.rehash = errors.New("disk full")
	var reported error
	s.Hasher = account.NewCheapHasher(t, account.Params{MemoryKiB: 64, Iterations: 2, Parallelism: 1}, 1, 0)
	for _, report := range []func(context.Context, error){nil, func(_ context.Context, err error) { reported = err }} {
		s.RehashFailed = report
		got, err := authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword(goodPassword))
		if err != nil || !got.PasswordHash.Equal(u.PasswordHash) {
			t.Errorf("Authenticate: %v", err)
		}
	}
	if !errors.Is(reported, users.rehash) {
		t.Errorf("reported %v", reported)
	}
}

func TestFailuresOfOthersAreNotWrongPasswords(t *testing.T) {
	s, users := newService(t)
	users.lookup = errors.New("connection lost")
	for _, name := range []string{"alice", "no name"} {
		if _, err := authenticate(s, t.Context(), account.Asker{}, name, account.NewPassword(goodPassword)); !errors.Is(err, users.lookup) || errors.Is(err, account.ErrWrong) {
			t.Errorf("%q: %v, want the store's error", name, err)
		}
	}
	if _, err := s.New(t.Context(), account.Asker{}, "alice", account.NewPassword(goodPassword), account.RoleUser); !errors.Is(err, users.lookup) {
		t.Errorf("New: %v", err)
	}
	users.lookup = nil
	u := register(t, s, "alice")
	users.Change(u.ID, func(u *account.User) { u.PasswordHash = account.NewPHC("garbage") })
	if _, err := authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword(goodPassword)); !errors.Is(err, account.ErrBadHash) || errors.Is(err, account.ErrWrong) {
		t.Errorf("damaged hash: %v, want ErrBadHash", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"alice", "nobody"} {
		if _, err := authenticate(s, ctx, account.Asker{}, name, account.NewPassword(goodPassword)); errors.Is(err, account.ErrWrong) {
			t.Errorf("%s, context ended: %v", name, err)
		}
	}
}

func TestNewHashChecksFirst(t *testing.T) {
	s, _ := newService(t)
	phc, err := s.NewHash(t.Context(), account.Asker{}, "alice", account.NewPassword(goodPassword))
	if err != nil {
		t.Fatal(err)
	}
	u := account.User{Username: "alice", PasswordHash: phc}
	if err := s.VerifyPassword(t.Context(), account.Asker{}, u, account.NewPassword(goodPassword)); err != nil {
		t.Errorf("VerifyPassword: %v", err)
	}
	if err := s.VerifyPassword(t.Context(), account.Asker{}, u, account.NewPassword("another")); !errors.Is(err, account.ErrWrong) {
		t.Errorf("VerifyPassword of another: %v, want ErrWrong", err)
	}
	s.Hasher.Observe(true, func(string) { t.Error("hashed") })
	if _, err := s.NewHash(t.Context(), account.Asker{}, "alice", account.NewPassword("short")); code(t, err, "password") != "too_short" {
		t.Errorf("NewHash: %v", err)
	}
}

func TestParseRole(t *testing.T) {
	for _, r := range []account.Role{account.RoleUser, account.RoleService, account.RoleAdmin} {
		if got, err := account.ParseRole(string(r)); got != r || err != nil {
			t.Errorf("ParseRole(%q) = %q, %v", r, got, err)
		}
	}
	for _, s := range []string{"", "Admin", "admin ", "root"} {
		if got, err := account.ParseRole(s); got != "" || !errors.Is(err, account.ErrRole) {
			t.Errorf("ParseRole(%q) = %q, %v, want ErrRole", s, got, err)
		}
	}
}

// store counts lookups and fails on demand.
type store struct {
	accounttest.Users
	lookups        atomic.Int32
	lookup, rehash error
}

func (s *store) ByName(ctx context.Context, username string) (account.User, error) {
	s.lookups.Add(1)
	if s.lookup != nil {
		return account.User{}, s.lookup
	}
	return s.Users.ByName(ctx, username)
}

func (s *store) Rehash(ctx context.Context, id idworker.ID, v int64, phc account.PHC) error {
	if s.rehash != nil {
		return s.rehash
	}
	return s.Users.Rehash(ctx, id, v, phc)
}

type counter struct{ n atomic.Int64 }

func (c *counter) Next(context.Context) (idworker.ID, error) { return idworker.ID(c.n.Add(1)), nil }
