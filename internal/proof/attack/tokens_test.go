//go:build unix

package attack

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/audit"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/store/sqlstore"
	"github.com/flakepass/flakepass/migrations"
)

const (
	base62   = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base32   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	secretAt = 3 + 11
	sumAt    = secretAt + 26
)

// sealed is a text with the checksum that a token has.
func sealed(b []byte) string {
	for i, sum := sumAt+5, crc32.ChecksumIEEE(b[:sumAt]); i >= sumAt; i-- {
		b[i] = base62[sum%62]
		sum /= 62
	}
	return string(b)
}

// A minter makes IDs as a worker does, one after the other.
type minter struct{ last idworker.ID }

func (m *minter) NextAfter(_ context.Context, floor idworker.ID) (idworker.ID, error) {
	m.last = max(m.last, floor, idworker.Default().Smallest(time.Now())) + 1
	return m.last, nil
}

// forgery is a text that is like a token, by an attacker who has seen those in good
// and old, but not the one that it is to be taken for.
func forgery(r *rand.Rand, good, old []string) (kind, text string) {
	it, other := []byte(good[r.IntN(len(good))]), good[r.IntN(len(good))]
	switch r.IntN(10) {
	case 0: // the checksum shows these
		it[r.IntN(len(it))] ^= 1 << r.IntN(8)
		return "a bit", string(it)
	case 1:
		for i := 3; i < len(it); i++ {
			it[i] = base62[r.IntN(62)]
		}
		return "noise", string(it)
	case 2:
		at := r.IntN(len(it))
		return "cut and joined", string(it[:at]) + other[:len(it)-at]
	case 3, 4: // and not these
		it[secretAt+r.IntN(26)] = base32[r.IntN(32)]
		return "a character of the secret", sealed(it)
	case 5:
		for i := secretAt; i < sumAt; i++ {
			it[i] = base32[r.IntN(32)]
		}
		return "another secret", sealed(it)
	case 6:
		copy(it[secretAt:], other[secretAt:sumAt])
		return "another login's secret", sealed(it)
	case 7:
		it[secretAt-1-r.IntN(5)] = base62[r.IntN(62)]
		return "an ID nearby", sealed(it)
	case 8:
		for i, secret := secretAt, old[r.IntN(len(old))]; i < sumAt; i++ {
			it[i] = secret[i]
		}
		return "the secret of before", sealed(it)
	}
	return "of before", old[r.IntN(len(old))]
}

// TestForgedTokensAreRefused: none of six thousand (a million with "make
// attack") is taken for a token of a real store, and no attempt changes anything
// for those whose tokens they are like.
func TestForgedTokensAreRefused(t *testing.T) {
	t.Parallel()
	db, err := sqlstore.Open(t.Context(), sqlstore.Options{
		Dialect: migrations.SQLite, Source: filepath.Join(t.TempDir(), "flakepass.db"), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := migrations.Up(t.Context(), db.SQL(), db.Dialect(), nil); err != nil {
		t.Fatal(err)
	}
	ids := &minter{}
	users, store := &sqlstore.Users{DB: db}, &sqlstore.Sessions{DB: db}
	sessions := &session.Service{Store: store, Rows: store, Writer: store, IDs: ids, Policy: policy.Fixed(policy.Default()), Now: time.Now}
	var good, old []string
	owners := map[string]flakepass.ID{}
	for i := range 100 {
		id, err := ids.NextAfter(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if err := users.Create(t.Context(), account.User{
			ID: id, Username: fmt.Sprintf("user%d", i), Role: account.RoleUser, PasswordHash: account.NewPHC("$"), PasswordVersion: 1, CreatedAt: now, UpdatedAt: now,
		}); err != nil {
			t.Fatal(err)
		}
		for _, list := range []*[]string{&old, &good} { // the second login ends the first
			opened, err := sessions.Open(t.Context(), audit.Actor{}, id, 1, nil, session.Place{})
			if err != nil {
				t.Fatal(err)
			}
			*list = append(*list, opened.Token.Reveal())
			owners[opened.Token.Reveal()] = flakepass.ID(id)
		}
	}
	all := 6_000
	if whole() {
		all = 1_000_000
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	genuine := map[string]bool{}
	for _, text := range good {
		genuine[text] = true
	}
	parsed, refused := map[string]int{}, map[string]int{}
	for range all {
		kind, text := forgery(r, good, old)
		if genuine[text] { // one in thousands is what it was
			continue
		}
		token, err := flakepass.ParseToken(text)
		if err != nil {
			continue
		}
		parsed[kind]++
		who, err := sessions.Verify(t.Context(), token)
		refusal, ok := errors.AsType[*flakepass.Refusal](err)
		if !ok {
			t.Fatalf("seed %d: %s: accepted as %v, %v", seed, kind, who, err)
		}
		refused[refusal.Code()]++
	}
	t.Logf("seed %d, %d texts: with a checksum that fits %v; refused as %v", seed, all, parsed, refused)
	if parsed["a character of the secret"] < all/10 || parsed["noise"]+parsed["a bit"] > 0 || len(parsed) < 6 {
		t.Errorf("the forgeries are not what they should be: %v", parsed)
	}
	for _, text := range good {
		token, err := flakepass.ParseToken(text)
		if err != nil {
			t.Fatal(err)
		}
		if who, err := sessions.Verify(t.Context(), token); err != nil || who.UserID != owners[text] {
			t.Errorf("afterwards a good token gets %v, %v", who, err)
		}
	}
}

// TestForgedTokensOverHTTP: the same, at the door, in either direction of the
// question, and with no 5xx.
func TestForgedTokensOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good, old := make([]string, 2), make([]string, 2)
	for i, name := range []string{"alice", "bob"} {
		old[i] = w.register(name)
		good[i] = w.login(name)
	}
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 2))
	all := 200
	if whole() {
		all = 5000
	}
	for range all {
		kind, text := forgery(r, good, old)
		if text == good[0] || text == good[1] || !fits(text) {
			continue
		}
		for _, path := range []string{"/v1/me", "/v1/verify"} {
			if a := w.send("GET", w.api, path, "", bearer(text)...); a.status != 401 || a.header.Get("X-Auth-User-Id") != "" {
				t.Fatalf("seed %d, %s, %s: got %d %v %s", seed, kind, path, a.status, a.header, a.body)
			}
		}
	}
	w.alive(good[0])
	w.alive(good[1])
}

// fits reports whether a header can hold that text.
func fits(text string) bool {
	for _, c := range []byte(text) {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return true
}
