package session_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/policy"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// TestDeviceIsKeptAsPeopleReadIt: no name refuses a login, and none has a character that
// does not show.
func TestDeviceIsKeptAsPeopleReadIt(t *testing.T) {
	for given, want := range map[string]string{
		"Ada’s iPhone": "Ada’s iPhone", "  a   b ": "a b", "小米手机 14": "小米手机 14", "ＰＩＸＥＬ": "PIXEL", "": "", " \t ": "",
		"evil\u202ephone": "evilphone", "a\u200bb": "ab", "two\nlines": "two lines", "\x00": "",
		"👨\u200d👩\u200d👧 iPad":   "👨👩👧 iPad", // a family is joined by a character that does not show
		"\xff\xfe tv":            "tv",
		strings.Repeat("ä ", 64): strings.TrimSpace(strings.Repeat("ä ", 32)),
	} {
		d, err := session.ParseDevice(policy.DefaultClasses(), "phone", given, "")
		if err != nil || d.Name != want || d.Class != "phone" {
			t.Errorf("%q: %+v, %v; want %q", given, d, err, want)
		}
	}
	if d, err := session.ParseDevice(policy.DefaultClasses(), "", "", ""); d != nil || err != nil || d.ClassName() != session.OtherDevice || d.Label() != "" {
		t.Errorf("nothing said: %+v, %v", d, err)
	}
	if d, err := session.ParseDevice(policy.DefaultClasses(), "", "Fridge", ""); err != nil || d.Class != session.OtherDevice || d.Name != "Fridge" {
		t.Errorf("a name alone: %+v, %v", d, err)
	}
	for _, class := range []string{"Phone", "watch", " phone", "phone\x00"} {
		_, err := session.ParseDevice(policy.DefaultClasses(), class, "", "")
		wrong, ok := errors.AsType[*invalid.Error](err)
		if !ok || wrong.Fields[0].Field != "device.class" || !strings.Contains(err.Error(), "must be one of phone, tablet") || strings.Contains(err.Error(), "watch") {
			t.Errorf("class %q: %v", class, err)
		}
	}
}

// TestDeviceInACacheIsSharedAndHasNoName, so that it costs a pointer.
func TestDeviceInACacheIsSharedAndHasNoName(t *testing.T) {
	one, _ := session.ParseDevice(policy.DefaultClasses(), "tablet", "one", "")
	two, _ := session.ParseDevice(policy.DefaultClasses(), "tablet", "two", "")
	if one.WithoutName() != two.WithoutName() || one.WithoutName().Name != "" || one.WithoutName().Class != "tablet" || one.Name != "one" {
		t.Errorf("%p %+v, %p %+v", one.WithoutName(), one.WithoutName(), two.WithoutName(), one)
	}
	keyed, err := session.ParseDevice(policy.DefaultClasses(), "", "", "what an app keeps")
	if err != nil || len(keyed.Key) != 16 || strings.Contains(keyed.Key, "app") || keyed.ClassName() != "other" || keyed.WithoutName() != nil {
		t.Errorf("with an ID: %+v, %v", keyed, err)
	}
	if _, err := session.ParseDevice(policy.DefaultClasses(), "", "", strings.Repeat("x", session.MaxDeviceID+1)); err == nil {
		t.Error("an ID of any length is taken")
	}
	other, _ := session.ParseDevice(policy.DefaultClasses(), "other", "a name", "")
	if other.WithoutName() != nil || (*session.Device)(nil).WithoutName() != nil {
		t.Error("other is not nil")
	}
}

func FuzzParseDevice(f *testing.F) {
	for _, class := range append(policy.DefaultClasses(), "", "watch") {
		f.Add(class, "Ada’s\u202e 👨\u200d👩 \xff phone")
	}
	// Letters that may stand only beside others, which the cut takes away (RFC 5892, appendix A).
	for _, name := range []string{
		strings.Repeat("a", 62) + "l·l", "・" + strings.Repeat("a", 64) + "ア", strings.Repeat("a", 62) + "\u0628\u200c\u0627", strings.Repeat("a", 63) + "\u0375α",
	} {
		f.Add("phone", name)
	}
	f.Fuzz(func(t *testing.T, class, name string) {
		d, err := session.ParseDevice(policy.DefaultClasses(), class, name, "")
		if err != nil {
			return
		}
		kept := d.Label()
		if !utf8.ValidString(kept) || utf8.RuneCountInString(kept) > session.MaxDeviceName || strings.TrimSpace(kept) != kept || strings.ContainsAny(kept, "\x00\n\u200b\u202e") {
			t.Errorf("%q is kept as %q", name, kept)
		}
		again, err := session.ParseDevice(policy.DefaultClasses(), class, kept, "")
		if err != nil || again.Label() != kept || again.ClassName() != d.ClassName() || !slices.Contains(policy.DefaultClasses(), d.ClassName()) {
			t.Errorf("%q is kept as %q, and that as %q", name, kept, again.Label())
		}
	})
}
