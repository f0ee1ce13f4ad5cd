package account_test

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
)

// brought is an account that was imported with that hash.
func brought(t *testing.T, s *account.Service, name, hash string) account.User {
	t.Helper()
	read, err := account.ReadImportedHash(hash, nil)
	if err != nil {
		t.Fatalf("%s: %v", hash, err)
	}
	kept, err := s.Hasher.KeepAll(t.Context(), account.Asker{Known: true}, []account.ImportedHash{read})
	if err != nil {
		t.Fatal(err)
	}
	if !read.Is(kept[0]) || read.IsZero() || strings.Contains(fmt.Sprintf("%v %+v %#v", read, read, read), hash[len(hash)-10:]) {
		t.Errorf("%s is kept as %s", hash, kept[0].Reveal())
	}
	id, _ := s.IDs.Next(t.Context())
	u := account.User{ID: id, Username: name, Role: account.RoleUser, PasswordHash: kept[0], PasswordVersion: 1, ImportedVersion: 1, CreatedAt: now, UpdatedAt: now}
	if err := s.Users.(*store).Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u
}

func bcryptOf(t *testing.T, password string) string {
	t.Helper()
	b, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func djangoOf(password string) string {
	key, _ := pbkdf2.Key(sha256.New, password, []byte("seasalt"), 1000, 32)
	return "pbkdf2_sha256$1000$seasalt$" + base64.StdEncoding.EncodeToString(key)
}

// oldPHP is sha1(salt . password).
func oldPHP(password string) string {
	sum := sha1.Sum([]byte("pepper" + password))
	return "sha1$pepper$" + hex.EncodeToString(sum[:])
}

// TestFirstLoginMakesTheHashOurs: a right password is hashed as new ones are, also one that
// is too short to be chosen today; a wrong one changes nothing.
func TestFirstLoginMakesTheHashOurs(t *testing.T) {
	for name, hash := range map[string]string{"django": djangoOf("tiny"), "node": bcryptOf(t, "tiny"), "php": oldPHP("tiny")} {
		s, users := newService(t)
		u := brought(t, s, name, hash)
		for _, wrong := range []string{"", "tinY", "tiny ", "pepper"} {
			if _, err := authenticate(s, t.Context(), account.Asker{}, name, account.NewPassword(wrong)); !errors.Is(err, account.ErrWrong) {
				t.Errorf("%s: %q: %v", name, wrong, err)
			}
		}
		if row, _ := users.ByID(t.Context(), u.ID); !row.PasswordHash.Equal(u.PasswordHash) || row.PasswordHash.Ours() {
			t.Errorf("%s: before the login the row has %s", name, row.PasswordHash.Reveal())
		}
		if name == "php" && strings.Contains(u.PasswordHash.Reveal(), hash[len(hash)-20:]) {
			t.Errorf("%s is kept as %s", hash, u.PasswordHash.Reveal())
		}
		got, err := authenticate(s, t.Context(), account.Asker{}, name, account.NewPassword("tiny"))
		if err != nil || !got.PasswordHash.Ours() || !got.BroughtPassword() {
			t.Fatalf("%s: %v", name, err)
		}
		row, _ := users.ByID(t.Context(), u.ID)
		if !row.PasswordHash.Equal(got.PasswordHash) || row.PasswordVersion != 1 {
			t.Errorf("%s: after the login the row has %s, version %d", name, row.PasswordHash.Reveal(), row.PasswordVersion)
		}
		if _, err := authenticate(s, t.Context(), account.Asker{}, name, account.NewPassword("tiny")); err != nil {
			t.Errorf("%s: the second login: %v", name, err)
		}
	}
}

// TestAChangeDuringTheFirstLoginWins: the hash of the password before is not written over
// the new one.
func TestAChangeDuringTheFirstLoginWins(t *testing.T) {
	s, users := newService(t)
	u := brought(t, s, "alice", bcryptOf(t, "old one"))
	next := account.NewPHC("$the new one$")
	s.Hasher.Observe(true, func(phc string) {
		if phc == "" { // the hash for the upgrade begins
			users.Change(u.ID, func(u *account.User) { u.PasswordHash, u.PasswordVersion = next, 2 })
		}
	})
	if _, err := authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword("old one")); err != nil {
		t.Fatal(err)
	}
	if row, _ := users.ByID(t.Context(), u.ID); !row.PasswordHash.Equal(next) || row.BroughtPassword() {
		t.Errorf("the row has %s", row.PasswordHash.Reveal())
	}
}

// TestForeignHashIsOfWhatWasTyped: another system has hashed the bytes that came, and not
// their normal form.
func TestForeignHashIsOfWhatWasTyped(t *testing.T) {
	s, _ := newService(t)
	const typed = "cafe\u0301 au lait"
	brought(t, s, "alice", bcryptOf(t, typed))
	for range 2 { // before and after the hash is ours
		if _, err := authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword(typed)); err != nil {
			t.Error(err)
		}
	}
	if _, err := authenticate(s, t.Context(), account.Asker{}, "alice", account.NewPassword("caf\u00e9 au lait")); err != nil {
		t.Errorf("in the normal form, once the hash is ours: %v", err)
	}
}

func TestHashesThatAreNotTaken(t *testing.T) {
	for text, code := range map[string]string{
		"5f4dcc3b5aa765d61d8327deb882cf99":                              account.CodeUnsupported,
		"$2b$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW":  account.CodeCost,
		"$argon2id$v=19$m=4294967295,t=1,p=1$" + b64salt + "$" + b64key: account.CodeUnsupported,
		"argon2$argon2id$v=19$m=64,t=99,p=1$" + b64salt + "$" + b64key:  account.CodeUnsupported,
		"firebase$AAAA$AAAA":             account.CodeUnsupported,
		"hunter22":                       account.CodeUnsupported,
		"$1$salt$qJH7.N4xYta3aEG/dfqo/0": account.CodeUnsupported,
	} {
		_, err := account.ReadImportedHash(text, nil)
		bad, ok := errors.AsType[*invalid.Error](err)
		if !ok || bad.Fields[0].Field != "password_hash" || bad.Fields[0].Code != code || strings.Contains(err.Error(), text[len(text)-8:]) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, none := range []string{"", "!", "!x7Yq"} {
		if h, err := account.ReadImportedHash(none, nil); err != nil || !h.IsZero() {
			t.Errorf("%q: %v", none, err)
		}
	}
	ours, err := account.ReadImportedHash("argon2$argon2id$v=19$m=64,t=1,p=1$"+b64salt+"$"+b64key, nil)
	if err != nil || !ours.Is(account.NewPHC("$argon2id$v=19$m=64,t=1,p=1$"+b64salt+"$"+b64key)) {
		t.Errorf("Django's Argon2id: %v", err)
	}
}

// TestUnknownNamesCostWhatAccountsDo: names that no account has are compared with hashes of
// the formats that the accounts have, as many of each; and one that has turned from another
// system's to ours never turns back, as an account's does not.
func TestUnknownNamesCostWhatAccountsDo(t *testing.T) {
	s, _ := newService(t)
	var compared string
	s.Hasher.Observe(false, func(phc string) { compared = phc })
	kinds := []string{"$2b$10$", "$pbkdf2-sha256$600000$", "$argon2id$v=19$m=128,t=3,p=1$"}
	counts := func(all, left int64) []account.FormatCount {
		return []account.FormatCount{
			{Format: "", Imported: 1000, Users: all}, {Format: kinds[0], Imported: 300, Users: 300 * left / 100}, {Format: kinds[1], Imported: 200, Users: 200 * left / 100},
			{Format: kinds[2], Imported: 100, Users: 100 * left / 100}, {Format: "$argon2id$v=19$m=64,t=1,p=1$", Imported: 400, Users: all - 6*left},
			{Format: "$unknown$", Imported: 100, Users: 100},
		}
	}
	const names = 4000
	look := func() (of [names]string, many map[string]int) {
		many = map[string]int{}
		for i := range names {
			_, err := authenticate(s, t.Context(), account.Asker{}, fmt.Sprintf("nobody%d", i), account.NewPassword("x"))
			if !errors.Is(err, account.ErrWrong) {
				t.Fatal(err)
			}
			of[i] = "ours"
			for _, kind := range kinds {
				if strings.HasPrefix(compared, kind) {
					of[i] = kind
				}
			}
			many[of[i]]++
		}
		return of, many
	}
	near := func(got int, share float64) bool {
		return float64(got) > (share-0.03)*names && float64(got) < (share+0.03)*names
	}
	s.Hasher.SetMix([]byte("key"), counts(1000, 100))
	first, many := look()
	for i, share := range []float64{0.3, 0.2, 0.1} {
		if !near(many[kinds[i]], share) {
			t.Errorf("%s: %d of %d names, want %v of them", kinds[i], many[kinds[i]], names, share)
		}
	}
	if again, _ := look(); again != first {
		t.Error("a name has changed")
	}
	before := first
	for _, step := range []struct {
		all, left int64
		share     float64
	}{{1000, 50, 0.15}, {2000, 50, 0.075}, {2000, 0, 0}} {
		s.Hasher.SetMix([]byte("key"), counts(step.all, step.left))
		after, many := look()
		if !near(many[kinds[0]], step.share) {
			t.Errorf("%+v: %d names", step, many[kinds[0]])
		}
		for i := range after {
			if after[i] != before[i] && after[i] != "ours" {
				t.Fatalf("a name went from %s to %s", before[i], after[i])
			}
		}
		before = after
	}
	s.Hasher.SetMix([]byte("another key"), counts(1000, 100))
	if other, _ := look(); other == first {
		t.Error("the key does not matter")
	}
}

func TestMostCommonFormatsAreKept(t *testing.T) {
	counts := []account.FormatCount{{Format: "", Imported: 5050, Users: 5050}}
	for i := range 100 {
		counts = append(counts, account.FormatCount{Format: fmt.Sprintf("$pbkdf2$%d$", 1000+i), Imported: int64(i + 1), Users: int64(i + 1)})
	}
	kept := account.MostCommon(counts)
	sum := int64(0)
	for _, c := range kept[1:] {
		sum += c.Users
	}
	if len(kept) != 33 || kept[0].Format != "" || kept[1].Imported != 100 || sum != 5050 {
		t.Errorf("%d formats, %d users: %+v", len(kept), sum, kept)
	}
}

// failing is an engine that cannot be had.
type failing struct{ account.Here }

func (failing) Create(string, account.Params) (string, error) { return "", account.ErrBusy }

func TestDigestsAreNotKeptBare(t *testing.T) {
	h, err := account.NewHasher(failing{}, account.DefaultParams(), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	read, err := account.ReadImportedHash(oldPHP("x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := h.KeepAll(context.WithoutCancel(t.Context()), account.Asker{}, []account.ImportedHash{read, read, read})
	if !errors.Is(err, account.ErrBusy) || strings.Contains(err.Error(), "\n") || len(kept) > 0 && !kept[0].IsZero() && strings.Contains(kept[0].Reveal(), "sha1") {
		t.Errorf("%v", err)
	}
}

// TestEmptyPasswordOpensNoArgon2id: whatever another system has hashed.
func TestEmptyPasswordOpensNoArgon2id(t *testing.T) {
	text, err := account.Here{}.Create("", account.Params{MemoryKiB: 64, Iterations: 1, Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	h := account.NewCheapHasher(t, account.CheapParams, 1, 0)
	if ok, _, err := h.Verify(t.Context(), account.Asker{}, account.NewPassword(""), account.NewPHC(text)); ok || err != nil {
		t.Errorf("it opens: %v, %v", ok, err)
	}
}

// TestImportedArgon2idIsBounded: its memory in all passes, and not each by itself.
func TestImportedArgon2idIsBounded(t *testing.T) {
	for costs, want := range map[string]bool{"m=262144,t=4,p=1": true, "m=262144,t=5,p=1": false, "m=65536,t=16,p=4": true} {
		text := "$argon2id$v=19$" + costs + "$c29tZXNhbHRzb21lc2FsdA$AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
		if _, err := account.ReadImportedHash(text, nil); (err == nil) != want {
			t.Errorf("%s: %v", costs, err)
		}
	}
}
