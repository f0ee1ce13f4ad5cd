package account_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account"
)

func TestSecretsDoNotPrint(t *testing.T) {
	const secret = "hunter2 hunter2 hunter2"
	type hidden struct {
		name string
		p    account.Password
		h    account.PHC
	}
	type deep struct {
		in  hidden
		ptr *hidden
		any any
		Out account.Password
		H   account.PHC
	}
	p, h := account.NewPassword(secret), account.NewPHC(secret)
	in := hidden{"x", p, h}
	values := map[string]any{
		"password": p, "pointer": &p, "typed": account.NewPassword(secret + " e\u0301"), "phc": h, "unexported": in, "pointer to it": &in,
		"deep":  deep{in: in, ptr: &in, any: p, Out: p, H: h},
		"slice": []account.Password{p}, "map": map[string]account.PHC{"k": h},
		"user":               account.User{Username: "alice", PasswordHash: h},
		"pointer in a slice": []*hidden{&in},
	}
	hexed := fmt.Sprintf("%x", secret)
	for name, v := range values {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%#x", "%d", "%10.3s", "%T"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		fmt.Fprintln(&out, v, errors.Join(fmt.Errorf("got %v", v)))
		if b, err := json.Marshal(v); err == nil {
			out.Write(b)
		}
		for _, h := range []slog.Handler{slog.NewJSONHandler(&out, nil), slog.NewTextHandler(&out, nil)} {
			slog.New(h).Info("m", "v", v)
			slog.New(h).Info("m", slog.Any("w", v))
		}
		got := strings.ToLower(out.String())
		for _, leak := range []string{"hunter2", hexed, hexed[:12], "68 75 6e 74"} {
			if strings.Contains(got, leak) {
				t.Errorf("%s: the secret shows as %q in\n%s", name, leak, out.String())
			}
		}
	}
	for _, v := range []any{p, h} {
		if got := fmt.Sprintf("%v|%+v|%#v|%s|%q|%x|%d", v, v, v, v, v, v, v); got != strings.Repeat("|[redacted]", 7)[1:] {
			t.Errorf("%T prints as %s", v, got)
		}
		if b, err := json.Marshal(v); err != nil || string(b) != `"[redacted]"` {
			t.Errorf("%T in JSON: %s, %v", v, b, err)
		}
	}
}

func TestZeroPHCIsNone(t *testing.T) {
	if !account.NewPHC("").IsZero() || !(account.PHC{}).IsZero() || account.NewPHC("x").IsZero() {
		t.Error("IsZero is wrong")
	}
	if a, b := account.NewPHC("x"), account.NewPHC("y"); !a.Equal(account.NewPHC("x")) || a.Equal(b) || a.Equal(account.PHC{}) {
		t.Error("Equal is wrong")
	}
}

// FuzzNewPassword: composing is all that happens, and happens once.
func FuzzNewPassword(f *testing.F) {
	for _, s := range []string{"", " a ", "e\u0301", "\x00", "\xff\xfe", "ÅÅ", "가", strings.Repeat("a\u0301", 9000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := account.NewPassword(s).Text()
		if twice := account.NewPassword(once).Text(); twice != once {
			t.Errorf("NewPassword(%q) = %q, then %q", s, once, twice)
		}
		_ = account.CheckPassword("alice", account.NewPassword(s))
	})
}
