package bench

import (
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/internal/domain/session"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// checkRounds is the number of rounds of 50 ms on each side.
var checkRounds = testenv.Brief(20, 1)

// BenchmarkVerify compares the whole check of a login that memory knows (parse,
// checksum, SHA-256, memory, policy) with the check of a JWT that says the same.
func BenchmarkVerify(b *testing.B) { verify(b, warm) }

// BenchmarkVerifyDevices is BenchmarkVerify with five sessions a user and overrides.
func BenchmarkVerifyDevices(b *testing.B) { verify(b, warmDevices) }

func verify(b *testing.B, warm func(testing.TB) (*session.Service, *ledger, []string)) {
	b.Helper()
	service, behind, texts := warm(b)
	signer := newJWTCheck()
	jwts := signer.sign(b, behind.sessions, time.Now().Add(time.Hour))
	ours := func(i int) {
		if _, err := check(service, texts[i%logins]); err != nil {
			b.Fatal(err)
		}
	}
	base := func(i int) {
		if _, err := signer.check(jwts[i%logins]); err != nil {
			b.Fatal(err)
		}
	}
	reportChecks(b, "golang-jwt HS256", ours, base)
	if behind.asked.Load() > logins {
		b.Fatalf("memory answered only some: the store was asked %d times for %d logins", behind.asked.Load(), logins)
	}
}

// BenchmarkAdmit is BenchmarkVerify from the request on: find the token in the
// header, check it, put the identity into the request's context. The other side
// only checks.
func BenchmarkAdmit(b *testing.B) {
	service, behind, texts := warm(b)
	signer := newJWTCheck()
	jwts := signer.sign(b, behind.sessions, time.Now().Add(time.Hour))
	guard, w, asks := &flakepass.Guard{Verifier: service}, httptest.NewRecorder(), requests(b, texts)
	ours := func(i int) {
		if _, ok := guard.Admit(w, asks[i%logins]); !ok {
			b.Fatal(w.Body)
		}
	}
	base := func(i int) {
		if _, err := signer.check(jwts[i%logins]); err != nil {
			b.Fatal(err)
		}
	}
	reportChecks(b, "golang-jwt HS256", ours, base)
}

// BenchmarkRefuse compares how dear it is to say no to what is no credential or
// has expired. Both sides get the credential whole but for one character.
func BenchmarkRefuse(b *testing.B) {
	service, behind, texts := warm(b)
	signer := newJWTCheck()
	mistyped := func(texts []string) []string {
		out := make([]string, len(texts))
		for i, text := range texts {
			// Within the secret of a token, where only its checksum can show it;
			// within the header of a JWT, which its parser reads first.
			out[i] = text[:30] + flip(text[30]) + text[31:]
		}
		return out
	}
	b.Run("malformed", func(b *testing.B) {
		bad, badJWT := mistyped(texts), mistyped(signer.sign(b, behind.sessions, time.Now().Add(time.Hour)))
		reportChecks(b, "golang-jwt HS256",
			func(i int) { refused(b, service, bad[i%logins], flakepass.ErrMalformed) },
			func(i int) {
				if _, err := signer.check(badJWT[i%logins]); err == nil {
					b.Fatal("accepted")
				}
			})
	})
	b.Run("expired", func(b *testing.B) {
		old := make([]string, logins)
		for i := range old {
			t, _ := mint(b, time.Now().AddDate(0, 0, -31), i)
			old[i] = t.Reveal()
		}
		oldJWT := signer.sign(b, behind.sessions, time.Now().Add(-time.Hour))
		asked := behind.asked.Load()
		reportChecks(b, "golang-jwt HS256",
			func(i int) { refused(b, service, old[i%logins], flakepass.ErrExpired) },
			func(i int) {
				if _, err := signer.check(oldJWT[i%logins]); !errors.Is(err, jwt.ErrTokenExpired) {
					b.Fatal(err)
				}
			})
		if behind.asked.Load() != asked {
			b.Fatal("the store was asked about an expired token")
		}
	})
}

// flip returns another character that the secret of a token may hold.
func flip(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

func refused(tb testing.TB, v flakepass.Verifier, text string, want error) {
	if _, err := check(v, text); err != want { //nolint:errorlint // the sentinel itself, as a client of the package gets it
		tb.Fatalf("got %v, want %v", err, want)
	}
}

// reportChecks compares two checks and reports what one costs and allocates.
func reportChecks(b *testing.B, baseline string, ours, base func(i int)) {
	b.Helper()
	c := compare(b, checkRounds, spin(b, ours), spin(b, base))
	oursNS, baseNS := each(c.ours, sample.cost), each(c.base, sample.cost)
	oursAllocs, baseAllocs := allocs(ours), allocs(base)
	b.ReportMetric(oursNS.median, "ours-ns")
	b.ReportMetric(baseNS.median, "base-ns")
	b.ReportMetric(oursAllocs, "ours-allocs")
	b.ReportMetric(baseAllocs, "base-allocs")
	report(b, c.cheaper(), "times-cheaper")
	b.Logf("flakepass %.0f ns, %.0f allocations; %s %.0f ns, %.0f allocations; %s times cheaper",
		oursNS.median, oursAllocs, baseline, baseNS.median, baseAllocs, c.cheaper())
}

func allocs(op func(i int)) float64 {
	i := 0
	return testing.AllocsPerRun(logins, func() { op(i); i++ })
}

// TestCheckAllocatesNothing holds the check to what the garbage collector never
// sees, whether the answer is yes or no.
func TestCheckAllocatesNothing(t *testing.T) {
	several, _, of := warmDevices(t)
	if got := testing.AllocsPerRun(1000, func() { _, _ = check(several, of[0]) }); got != 0 {
		t.Errorf("alive, with overrides: got %v allocations, want 0", got)
	}
	service, _, texts := warm(t)
	expired, _ := mint(t, time.Now().AddDate(0, 0, -31), 0)
	for _, c := range []struct {
		what, text string
		want       error
	}{
		{"alive", texts[0], nil},
		{"too short", texts[0][:10], flakepass.ErrMalformed},
		{"mistyped", texts[0][:30] + flip(texts[0][30]) + texts[0][31:], flakepass.ErrMalformed},
		{"expired", expired.Reveal(), flakepass.ErrExpired},
	} {
		if _, err := check(service, c.text); !errors.Is(err, c.want) {
			t.Fatalf("%s: got %v, want %v", c.what, err, c.want)
		}
		got := testing.AllocsPerRun(1000, func() { _, _ = check(service, c.text) })
		if got != 0 {
			t.Errorf("%s: got %v allocations, want 0", c.what, got)
		}
	}
}

// TestJWTIsCheckedInEarnest keeps the baseline honest: it accepts what it
// signed, with every claim, and nothing else.
func TestJWTIsCheckedInEarnest(t *testing.T) {
	_, behind, _ := warm(t)
	signer := newJWTCheck()
	good := signer.sign(t, behind.sessions, time.Now().Add(time.Hour))[0]
	got, err := signer.check(good)
	if err != nil {
		t.Fatal(err)
	}
	if got.Username == "" || got.Role != "user" || got.SessionID == "" || got.Subject == "" || got.Idle == nil || got.LastSeen == nil {
		t.Errorf("got %+v, want every claim", got)
	}
	if _, err := newJWTCheck().check(good); !errors.Is(err, jwt.ErrTokenSignatureInvalid) {
		t.Errorf("another key: got %v, want %v", err, jwt.ErrTokenSignatureInvalid)
	}
	old := signer.sign(t, behind.sessions, time.Now().Add(-time.Minute))[0]
	if _, err := signer.check(old); !errors.Is(err, jwt.ErrTokenExpired) {
		t.Errorf("expired: got %v, want %v", err, jwt.ErrTokenExpired)
	}
}
