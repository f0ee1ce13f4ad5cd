//go:build unix

package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
)

// Names that a person or a collation may take for one another are different
// users, and each is found by its own bytes.
func TestUsernamesCompareByteByByte(t *testing.T) {
	names := []string{"ada", "Ada", "adá", "ada\u0301", "e", "é", "ss", "ß", "ﬀ", "ff", "admin", "ａｄｍｉｎ", "ädmin", "İ", "i", "ı", "😀", "😁", "ada\u200b"}
	onEach(t, func(t *testing.T, w *world) {
		ids := map[string]idworker.ID{}
		for _, name := range names {
			ids[name] = w.user(t, name)
		}
		for _, name := range names {
			if u, err := w.users.ByUsername(t.Context(), name); err != nil || u.ID != ids[name] || u.Username != name {
				t.Errorf("%q: found %q, %v", name, u.Username, err)
			}
			err := w.users.Create(t.Context(), account.User{ID: w.ids.next(0), Username: name, Role: account.RoleUser})
			if !errors.Is(err, account.ErrExists) {
				t.Errorf("%q again: %v, want ErrExists", name, err)
			}
		}
		for _, absent := range []string{"", "ADA", "ada ", " ada", "ad", "ad%", "ad_", "ada\x00", "' OR 1=1 -- ", `\`, "É"} {
			if u, err := w.users.ByUsername(t.Context(), absent); !errors.Is(err, account.ErrNotFound) {
				t.Errorf("%q: found %q, %v; want ErrNotFound", absent, u.Username, err)
			}
		}
		if n := w.number(t, "SELECT COUNT(*) FROM users"); n != int64(len(names)) {
			t.Errorf("%d users, want %d", n, len(names))
		}
	})
}

// MySQL takes "ada" and "ada " for one name. No name gets that far.
func TestNoNameEndsInASpace(t *testing.T) {
	for _, typed := range []string{"ada ", " ada", "ada\u00a0", "ada\u3000", "ada\t", "ada\n"} {
		if name, err := account.NormalizeUsername(typed); err == nil && name != "ada" {
			t.Errorf("%q became %q", typed, name)
		}
	}
}

func TestOneOfManyGetsTheName(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		errs := make([]error, 16)
		atOnce(len(errs), func(i int) {
			errs[i] = w.users.Create(t.Context(), account.User{ID: w.ids.next(0), Username: "ada", Role: account.RoleUser, PasswordVersion: 1})
		})
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if !errors.Is(err, account.ErrExists) {
				t.Errorf("%v, want ErrExists", err)
			}
		}
		if won != 1 {
			t.Errorf("%d got the name", won)
		}
	})
}

func TestCreateKeepsWhatItIsGiven(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		want := account.User{
			ID: 1<<63 - 1, Username: "ada", Role: account.RoleService, PasswordHash: account.NewPHC("$argon2id$v=19$m=1,t=1,p=1$YQ$Yg"),
			PasswordVersion: 7, CreatedAt: start, UpdatedAt: start,
		}
		if err := w.users.Create(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		got, err := w.users.ByID(t.Context(), want.ID)
		if err != nil || got.Username != want.Username || got.Role != want.Role || !got.PasswordHash.Equal(want.PasswordHash) ||
			got.PasswordVersion != 7 || !got.CreatedAt.Equal(start) || !got.UpdatedAt.Equal(start) || got.Disabled() {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		if err := w.users.Create(t.Context(), account.User{ID: 1, Username: "eve", Role: "root"}); err == nil {
			t.Error("a role that there is not: no error")
		}
		same := w.users.Create(t.Context(), account.User{ID: want.ID, Username: "bob", Role: account.RoleUser})
		if same == nil || errors.Is(same, account.ErrExists) {
			t.Errorf("a second user with the same ID: %v; the name is free", same)
		}
		if _, err := w.users.ByID(t.Context(), 5); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("ByID of nobody: %v", err)
		}
	})
}

func TestListPages(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		var want []idworker.ID
		for i := range 25 {
			want = append(want, w.user(t, fmt.Sprintf("user%02d", 99-i)))
		}
		for _, limit := range []int{1, 5, 7, 25, 100} {
			var got []idworker.ID
			after := idworker.ID(0)
			for {
				page, err := w.users.List(t.Context(), after, limit)
				if err != nil || len(page) > limit {
					t.Fatalf("a page of %d has %d, %v", limit, len(page), err)
				}
				if len(page) == 0 {
					break
				}
				for _, u := range page {
					got = append(got, u.ID)
				}
				after = got[len(got)-1]
			}
			if !slices.Equal(got, want) {
				t.Errorf("pages of %d: %v, want %v", limit, got, want)
			}
		}
	})
}

func TestHasAdmin(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		w.user(t, "ada")
		if has, err := w.users.HasAdmin(t.Context()); has || err != nil {
			t.Errorf("with a user: %v, %v", has, err)
		}
		if err := w.users.Create(t.Context(), account.User{ID: w.ids.next(0), Username: "root", Role: account.RoleAdmin}); err != nil {
			t.Fatal(err)
		}
		if has, err := w.users.HasAdmin(t.Context()); !has || err != nil {
			t.Errorf("with an admin: %v, %v", has, err)
		}
	})
}

// TestNewDatabaseHasNoAccount: nobody can log in to it, whatever they know.
func TestNewDatabaseHasNoAccount(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		if all, err := w.users.List(t.Context(), 0, 10); err != nil || len(all) != 0 {
			t.Errorf("%d accounts are there from the start, %v", len(all), err)
		}
	})
}
