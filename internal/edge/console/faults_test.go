package console

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/flakepass/flakepass/internal/domain/account"
	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/operator"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/servicekey"
)

// TestFaultsOfOverridesHaveTexts: in each language, with the override that is wrong. What
// checks them is not in one language only because somebody has tried one mistake in it.
func TestFaultsOfOverridesHaveTexts(t *testing.T) {
	phone, hour := policy.Scope{Class: "phone"}, time.Hour
	crowd := make([]policy.Override, policy.MostOverrides+1)
	seen := map[string]bool{}
	for _, all := range [][]policy.Override{
		crowd,
		{{Scope: policy.Scope{Class: "phone", Role: "user"}, Idle: hour}},
		{{Scope: policy.Scope{Class: "watch"}, Idle: hour}},
		{{Scope: policy.Scope{Role: "root"}, Idle: hour}},
		{{Scope: phone, Idle: hour}, {Scope: phone, Idle: hour}},
		{{Scope: phone}},
		{{Scope: phone, Idle: time.Minute}}, {{Scope: phone, Absolute: time.Minute}}, {{Scope: phone, Touch: time.Millisecond}},
		{{Scope: phone, Idle: 500 * day}}, {{Scope: phone, Absolute: 500 * day}}, {{Scope: phone, Touch: 500 * day}},
		{{Scope: phone, Idle: hour + 1}}, {{Scope: phone, Idle: 2 * hour, Absolute: hour}},
		{{Scope: policy.Scope{Role: "user"}, MaxSessions: 1}}, {{Scope: phone, MaxSessions: 33}},
	} {
		p := policy.Default()
		p.Overrides = all
		wrong, ok := errors.AsType[*invalid.Error](p.Check())
		if !ok {
			t.Fatalf("%v is taken", all)
		}
		for _, f := range wrong.Fields {
			seen[f.Code] = true
			wantTexts(t, f, map[bool]string{true: "16", false: all[0].Scope.String()}[len(all) > 2])
		}
	}
	for code := range seen {
		if _, ok := chinese().byKey["field.overrides."+code]; !ok {
			t.Errorf("no text of overrides for %s", code)
		}
	}
	wantTexts(t, invalid.Field{Field: "overrides", Code: policy.CodeCrowded, Message: policy.ErrCrowded.Error()}, "")
}

// TestFaultsOfTheDialHaveTexts in each language, too.
func TestFaultsOfTheDialHaveTexts(t *testing.T) {
	for _, p := range []policy.Policy{
		{Idle: time.Minute, Absolute: 500 * day, Classes: []string{"phone"}},
		{Idle: 3 * time.Minute, Absolute: 2 * time.Minute, Touch: 2 * time.Hour, MaxSessions: 33},
		{Idle: 3 * time.Hour, Absolute: 2 * time.Hour, Touch: 2 * time.Hour},
	} {
		wrong, ok := errors.AsType[*invalid.Error](p.Check())
		if !ok {
			t.Fatalf("%+v is taken", p)
		}
		for _, f := range wrong.Fields {
			if !strings.HasPrefix(f.Field, "limits.") { // which have a page of their own
				wantTexts(t, f, "")
			}
		}
	}
	for _, code := range []string{policy.CodeTooLong, policy.CodeInvalid} {
		wantTexts(t, invalid.Field{Field: "note", Code: code, Message: "the note must be otherwise"}, "")
	}
}

// TestOlderInstanceIsNamed beside the field that needs a newer one.
func TestOlderInstanceIsNamed(t *testing.T) {
	older := &policy.OlderInstanceError{Name: "web-3:%d", Version: "v0.1.0"}
	for field, p := range map[string]policy.Policy{
		"max_sessions": {MaxSessions: 2, Refuse: true},
		"overrides":    {MaxSessions: 1, Refuse: true, Overrides: make([]policy.Override, 1)},
		"over_limit":   {MaxSessions: 1, Refuse: true},
	} {
		f := older.Invalid(&p).Fields[0]
		if f.Field != field {
			t.Errorf("%s is blamed, want %s", f.Field, field)
		}
		wantTexts(t, f, "web-3:%d")
	}
}

// wantTexts wants a sentence about f in each language, which names that.
func wantTexts(t *testing.T, f invalid.Field, name string) {
	t.Helper()
	for _, l := range languages() {
		text := l.field(f)
		han := strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) })
		if !strings.Contains(text, name) || strings.Contains(text, "%!") || strings.Contains(text, "%s") || han != (l.Lang == "zh-Hans") {
			t.Errorf("%s: %s %s is %q, and does not name %q", l.Lang, f.Field, f.Code, text, name)
		}
		if !slices.Contains([]string{".", "。"}, string([]rune(text)[len([]rune(text))-1:])) {
			t.Errorf("%s: %q is no sentence", l.Lang, text)
		}
	}
}

// TestFaultsOfNamesAndKeysHaveTexts in each language, which say what is wrong with what.
func TestFaultsOfNamesAndKeysHaveTexts(t *testing.T) {
	aliases := func(all ...string) error { _, err := account.NormalizeAliases(all); return err }
	for _, tt := range []struct {
		err    error
		en, zh string
	}{
		{aliases("bob"), "alias", "别名"},
		{aliases("a@b.example", "b@b.example", "c@b.example", "d@b.example", "e@b.example", "f@b.example"), "5 aliases", "别名"},
		{aliases(strings.Repeat("a", 65) + "@b.example"), "254 bytes", "254"},
		{aliases("\u0430dmin@b.example"), "alias", "别名"},
		{servicekey.CheckName(""), "where the key is used", "用途"},
		{servicekey.CheckName(strings.Repeat("x", 65)), "The name must have at most 64", "用途最多 64"},
		{servicekey.CheckName("a\x00"), "The name must be text", "用途"},
		{operator.CheckReason("a\x00"), "Reason", "原因"},
		{operator.CheckReason(strings.Repeat("x", 1001)), "Reason must have at most 1000", "原因最多 1000"},
		{invalid.Of("name", "too_many", "is of one key too many: an account has at most 100 that were not revoked"), "100", "100"},
		{invalid.Of("role", "not_service", "must be service: only such an account has keys"), "Role", "service"},
		{invalid.Of("device_class", "malformed", "must be the class of a device, such as phone or web"), "device", "设备"},
	} {
		wrong, ok := errors.AsType[*invalid.Error](tt.err)
		if !ok {
			t.Fatalf("%s is taken", tt.en)
		}
		wantTexts(t, wrong.Fields[0], "")
		if en, zh := english().field(wrong.Fields[0]), chinese().field(wrong.Fields[0]); !strings.Contains(en, tt.en) || !strings.Contains(zh, tt.zh) || strings.Contains(zh, " must ") || strings.Contains(zh, " is ") {
			t.Errorf("%q, %q", en, zh)
		}
	}
}
