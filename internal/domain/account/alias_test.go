package account_test

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
)

func TestNormalizeAlias(t *testing.T) {
	long := strings.Repeat("a", 64)
	for in, want := range map[string]string{
		"Ada@Example.ORG": "ada@example.org", "ada@example.org": "ada@example.org", "ada＠example.org": "ada@example.org", "o'brien@example.org": "o'brien@example.org",
		"ada+tag@example.org": "ada+tag@example.org", "用户@例子.广告": "用户@例子.广告", long + "@example.org": long + "@example.org", "root@localhost": "root@localhost",
		"+4915112345678": "+4915112345678", "+1234567": "+1234567", "+123456789012345": "+123456789012345",

		"": "", "ada": "", "@": "", "ada@": "", "ada@example.org.": "", "ada@.org": "", "ada@example..org": "", "@example.org": "", "a@b@c": "", "ada @example.org": "", "ada@exa mple.org": "", " ada@example.org": "", "<ada@example.org>": "",
		long + "a@example.org": "", "a@" + strings.Repeat("b", 253): "", "ада@example.org": "", "=ada@example.org": "", "-ada@example.org": "", "ada@example.org\n": "", "\xff@example.org": "",
		"+": "", "+49 151 12345678": "", "+0123456789": "", "+123456": "", "+1234567890123456": "", "004915112345678": "", "15112345678": "", "+49(151)12345678": "", "++4915112345678": "", "+49151a12345678": "",
	} {
		got, err := account.NormalizeAlias(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	if _, err := account.NormalizeAliases([]string{"a@x.org", "b@x.org", "c@x.org", "d@x.org", "e@x.org", "A@x.org"}); err != nil {
		t.Errorf("five, one of them twice: %v", err)
	}
	if _, err := account.NormalizeAliases([]string{"a@x.org", "b@x.org", "c@x.org", "d@x.org", "e@x.org", "f@x.org"}); err == nil {
		t.Error("six aliases")
	}
}

// FuzzNormalizeAlias: an alias maps to itself, is no other username, and is in the form in
// which a username of the same text would be.
func FuzzNormalizeAlias(f *testing.F) {
	for _, s := range []string{"Ada@Example.org", "+4915112345678", "o'brien@example.org", "ａ＠ｂ", "a@b@c", "+", "σ@Σ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name, err := account.NormalizeAlias(s)
		if err != nil {
			return
		}
		if again, err := account.NormalizeAlias(name); err != nil || again != name {
			t.Errorf("%q is %q, and that is %q, %v", s, name, again, err)
		}
		if !account.CouldBeAlias(name) || len(name) > 254 || strings.ContainsAny(name, " \t\n<>\"&,;") {
			t.Errorf("%q is the alias %q", s, name)
		}
		if username, err := account.NormalizeUsername(s); err == nil && username != name {
			t.Errorf("%q is the alias %q and the username %q", s, name, username)
		}
		if typed, err := account.NormalizeLogin(s); err != nil || typed != name {
			t.Errorf("%q is the alias %q, and logs in as %q, %v", s, name, typed, err)
		}
	})
}

// TestFindCountsUnderTheAccount: not under the name that was typed, and for a name that
// nobody has under that.
func TestFindCountsUnderTheAccount(t *testing.T) {
	s, users := newService(t)
	u := register(t, s, "alice")
	if f, err := s.Find(t.Context(), "ALICE"); err != nil || f.CountedAs() != "#"+u.ID.String() || f.User.ID != u.ID {
		t.Errorf("%+v, %v", f, err)
	}
	users.Change(u.ID, func(u *account.User) { u.CountedByID = false })
	if f, err := s.Find(t.Context(), "alice"); err != nil || f.CountedAs() != "alice" {
		t.Errorf("of an earlier release: %+v, %v", f, err)
	}
	for typed, want := range map[string]string{"Eve": "eve", "+4915112345678": "+4915112345678", "no name": "-", "": "-"} {
		if f, err := s.Find(t.Context(), typed); err != nil || f.User.ID != 0 || f.CountedAs() != want {
			t.Errorf("%q: %+v, %v", typed, f, err)
		}
	}
}
