package deploytest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/wire"
	"github.com/flakepass/flakepass/internal/proof/apitest"
	"github.com/flakepass/flakepass/internal/proof/e2e"
)

// inForce is the policy as a service in another language reads it: by the contract alone.
type inForce struct {
	times
	Scopes []struct {
		Class string `json:"device_class"`
		Role  string `json:"role"`
		times
	} `json:"scopes"`
}

type times struct {
	Idle     int64 `json:"idle_ms"`
	Absolute int64 `json:"absolute_ms"`
}

// of are the times of a login, by the rule of PolicyInForce.
func (p *inForce) of(class, role string) times {
	for _, try := range [][2]string{{class, role}, {class, ""}, {"", role}, {"", ""}} {
		for _, s := range p.Scopes {
			if s.Class == try[0] && s.Role == try[1] {
				return s.times
			}
		}
	}
	return p.times
}

// TestOverridesAreInTheContract: where classes and roles have times of their own, every answer
// has the fields of its schema only, and the rule of the contract is that of the server.
func TestOverridesAreInTheContract(t *testing.T) {
	t.Parallel()
	d := e2e.OnSQLite(t)
	e2e.Must(t, d.Vars, "", "policy", "set", "--override", "class:phone=idle:90d,absolute:180d", "--override", "role:admin=idle:1h")
	i := d.Start(t)
	c := e2e.NewClient(t, i.Public)
	service, _ := d.Person(t, c, "orders", "service")
	slots := e2e.Header(wire.SlotsHeader, "1")

	var tokens []string
	for _, role := range []string{"user", "admin"} {
		_, password := d.Person(t, c, role+"person", role)
		for _, class := range []string{"phone", "tablet"} {
			a := c.Want(c.Do("POST", "/v1/login", fmt.Sprintf(`{"username":%q,"password":%q,"device":{"class":%q}}`, role+"person", password, class)), 200, "")
			c.Alive(a.Field("token"))
			tokens = append(tokens, a.Field("token"))
			body, _ := json.Marshal(map[string]any{"tokens": tokens[len(tokens)-1:]})
			checkByPolicy(t, c.Want(c.Do("POST", "/v1/verifications", string(body), e2e.Bearer(service), slots), 200, ""), class, role)
			// Who does not know of scopes gets none, and repeats no answer.
			if a := c.Want(c.Do("POST", "/v1/verifications", string(body), e2e.Bearer(service)), 200, ""); strings.Contains(string(a.Body), "scopes") || !strings.Contains(string(a.Body), `"believe_ms":0`) {
				t.Errorf("without slots: %s", a.Body)
			}
		}
	}
	admin := e2e.Bearer(tokens[len(tokens)-1])
	for _, path := range []string{"/v1/admin/policy", "/v1/admin/policy/history", "/v1/admin/sessions", "/v1/admin/users", "/v1/admin/stats", "/v1/me/sessions"} {
		c.Want(c.Do("GET", path, "", admin), 200, "")
	}
	for _, edit := range []string{"", "1"} {
		events, _ := follow(t, i.Public, service, "", e2e.Header(wire.SlotsHeader, edit))
		text := until(t, events, "policy").data
		if strings.Contains(text, "scopes") != (edit == "1") {
			t.Errorf("with X-Auth-Slots %q: %s", edit, text)
		}
		apitest.Document(t, "PolicyInForce", []byte(text))
	}
}

// checkByPolicy compares the times in an answer with those of the policy in it.
func checkByPolicy(t *testing.T, a e2e.Answer, class, role string) {
	t.Helper()
	var got struct {
		Policy        inForce
		Verifications []struct {
			Identity struct {
				Class    string    `json:"device_class"`
				Role     string    `json:"role"`
				Issued   time.Time `json:"issued_at"`
				Seen     time.Time `json:"last_seen_at"`
				Expires  time.Time `json:"expires_at"`
				IdleEnds time.Time `json:"idle_expires_at"`
			}
			Believe int64 `json:"believe_ms"`
		}
	}
	if err := json.Unmarshal(a.Body, &got); err != nil || len(got.Verifications) != 1 || len(got.Policy.Scopes) == 0 || got.Verifications[0].Believe == 0 {
		t.Fatalf("%s, %v", a.Body, err)
	}
	who := got.Verifications[0].Identity
	by := got.Policy.of(who.Class, who.Role)
	ends, idle := who.Issued.Add(time.Duration(by.Absolute)*time.Millisecond), who.Seen.Add(time.Duration(by.Idle)*time.Millisecond)
	if who.Class != class || who.Role != role || !who.Expires.Equal(ends) || !who.IdleEnds.Equal(idle) {
		t.Errorf("%s of %s: ends %v and %v, and by the policy %v and %v", class, role, who.Expires, who.IdleEnds, ends, idle)
	}
}
