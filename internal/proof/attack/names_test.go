//go:build unix

package attack

import (
	"fmt"
	"strings"
	"testing"
)

// TestNamesThatLookAlikeAreOneOrNone: every spelling of a name that a person
// could take for it is that name, at registration and at login, or is refused.
func TestNamesThatLookAlikeAreOneOrNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.register("paypal.ceo")
	w.register("strassberg")
	w.register("σίσυφος")
	const (
		same    = "is the name"
		refused = "is refused"
		another = "is another name" // which a person can tell from it
	)
	for _, n := range []struct{ of, spelling, want string }{
		{"paypal.ceo", "PayPal.CEO", same}, {"paypal.ceo", "ｐａｙｐａｌ．ｃｅｏ", same}, {"paypal.ceo", "pa\u0079pal.ceo", same},
		{"paypal.ceo", "paypal.ceo ", refused}, {"paypal.ceo", " paypal.ceo", refused}, {"paypal.ceo", "pay pal.ceo", refused}, {"paypal.ceo", "paypal.ceo\u0000", refused},
		{"paypal.ceo", "pay\u200bpal.ceo", refused}, {"paypal.ceo", "pay\u200dpal.ceo", refused}, {"paypal.ceo", "pay\u00adpal.ceo", refused}, {"paypal.ceo", "\u2066paypal.ceo", refused},
		{"paypal.ceo", "\u202eoec.lapyap", refused}, {"paypal.ceo", "paypal.ceo\u200e", refused}, {"paypal.ceo", "paypal\ufe0f.ceo", refused}, {"paypal.ceo", "paypal\U000e0061.ceo", refused},
		{"paypal.ceo", "pаypal.ceo", refused}, {"paypal.ceo", "раураӏ.сео", refused}, {"paypal.ceo", "paypaɩ.ceo", refused}, {"paypal.ceo", "paуpal.ceo", refused},
		{"paypal.ceo", "paypal․ceo", refused}, {"paypal.ceo", "paypal。ceo", refused}, {"paypal.ceo", "𝐩𝐚𝐲𝐩𝐚𝐥.ceo", refused}, {"paypal.ceo", "ⓟⓐⓨⓟⓐⓛ.ceo", refused},
		{"paypal.ceo", "ᴘᴀʏᴘᴀʟ.ceo", refused}, {"paypal.ceo", "p\u0363aypal.ceo", refused}, {"paypal.ceo", "paypal.ceo\u0334", refused}, {"paypal.ceo", "páypal.ceo", another},
		{"paypal.ceo", "pa\u0301ypal.ceo", another}, // the same as the one before
		{"paypal.ceo", "paypal%2eceo", refused}, {"paypal.ceo", "paypal.ceo'--", refused}, {"paypal.ceo", "paypal.ceo\n", refused}, {"paypal.ceo", "paypal.ceo\\", refused},
		{"strassberg", "STRASSBERG", same}, {"strassberg", "straßberg", refused}, {"strassberg", "STRAẞBERG", refused}, {"strassberg", "ſtrassberg", refused},
		{"strassberg", "ﬆrassberg", refused}, {"strassberg", "strassbergı", refused}, {"σίσυφος", "ΣΊΣΥΦΟΣ", same}, {"σίσυφος", "σίσυφοσ", same}, {"σίσυφος", "σι\u0301συφος", same},
	} {
		what := fmt.Sprintf("%+q for %s", n.spelling, n.of)
		got := w.send("POST", w.api, "/v1/register", object("username", n.spelling, "password", password))
		login := w.send("POST", w.api, "/v1/login", object("username", n.spelling, "password", password))
		switch n.want {
		case same:
			if got.status != 409 || login.status != 200 {
				t.Errorf("%s: registration %d %s, login %d, want 409 and 200", what, got.status, got.body, login.status)
			}
			if me := w.send("GET", w.api, "/v1/me", "", bearer(login.field("token"))...); me.field("username") != n.of {
				t.Errorf("%s: the login is of %q", what, me.field("username"))
			}
		case refused:
			if got.status != 422 || login.status != 401 {
				t.Errorf("%s: registration %d %s, login %d, want 422 and 401", what, got.status, got.body, login.status)
			}
		case another:
			if (got.status != 201 && got.status != 409) || login.status != 200 {
				t.Errorf("%s: registration %d, login %d, want 201 and 200", what, got.status, login.status)
			}
			if me := w.send("GET", w.api, "/v1/me", "", bearer(login.field("token"))...); me.field("username") == n.of {
				t.Errorf("%s: the login is of %q", what, n.of)
			}
		}
		if strings.Contains(got.body, n.spelling) && got.status == 422 {
			t.Errorf("%s: the refusal repeats it", what)
		}
	}
}
