package servicekey_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
)

// TestScopesAreTheKnownOnes: none by default, and an unknown one is refused with the list.
func TestScopesAreTheKnownOnes(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string
	}{
		{[]string{"revoke", "verify", "verify"}, "verify revoke"},
		{[]string{"verify"}, "verify"},
	} {
		if got, err := servicekey.ParseScopes(c.names); err != nil || got.Text() != c.want {
			t.Errorf("%v: %q, %v", c.names, got.Text(), err)
		}
	}
	for _, names := range [][]string{nil, {}, {""}, {"all"}, {"*"}, {"Verify"}, {"verify", "delete:users"}, {"verify revoke"}} {
		_, err := servicekey.ParseScopes(names)
		wrong, ok := errors.AsType[*invalid.Error](err)
		if !ok || wrong.Fields[0].Field != "scopes" || !strings.HasSuffix(wrong.Fields[0].Message, ": verify, revoke, issue, issue:any-role, read:users, write:users") {
			t.Errorf("%v: %v", names, err)
		}
	}
	// What a later release has written allows nothing here, and is shown.
	later := servicekey.ScopesOf("delete:users  verify")
	if later.Has(servicekey.Revoke) || !later.Has(servicekey.Verify) || !later.Has("delete:users") || later.Has("") {
		t.Errorf("got %v", later)
	}
}

// TestNameIsForPeople: it is shown in a list and in a terminal.
func TestNameIsForPeople(t *testing.T) {
	for name, ok := range map[string]bool{
		"billing": true, "计费服务": true, strings.Repeat("计", 64): true, strings.Repeat("x", 65): false, "": false, "  ": false, "\u200b": false, "\u3164 \u2800": false, "b\u200b": true, "a\nb": false, "\x1b[2J": false, "\xff": false,
	} {
		if err := servicekey.CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
