//nolint:forbidigo // every Sleep is in a synctest bubble, where time is the test's own
package keypair_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flakepass/flakepass/internal/server/keypair"
)

func TestLoadSaysWhichFileIsWrong(t *testing.T) {
	dir := t.TempDir()
	cert, key := write(t, dir, "good", time.Now().Add(time.Hour))
	_, other := write(t, dir, "other", time.Now().Add(time.Hour))
	old, oldKey := write(t, dir, "old", time.Now().Add(-time.Hour))
	early, earlyKey := write(t, dir, "early", time.Now().Add(29*time.Hour)) // write makes them for 24 h
	justNow, justNowKey := write(t, dir, "just now", time.Now().Add(24*time.Hour+30*time.Second))
	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, cert, key, want string }{
		{"both are good", cert, key, ""},
		{"no certificate", filepath.Join(dir, "none"), key, "none"},
		{"no key", cert, filepath.Join(dir, "none"), "none"},
		{"the key of another", cert, other, "no pair"},
		{"the wrong way round", key, cert, "no pair"},
		{"empty", empty, key, "no pair"},
		{"over", old, oldKey, "ended on"},
		{"not yet valid", early, earlyKey, "valid only from"},
		{"by a clock that is ahead", justNow, justNowKey, ""},
		{"a folder", dir, key, dir},
	} {
		p, err := keypair.Load(c.cert, c.key)
		switch {
		case c.want == "" && (err != nil || p.NotAfter().Before(time.Now())):
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v; want a word about %q", c.name, err, c.want)
		}
	}
}

// TestNamedPipeIsNoKey: nobody may have written to it, and a stop would not end the wait. It could be read once only, and Watch reads
// the files again.
func TestNamedPipeIsNoKey(t *testing.T) {
	dir := t.TempDir()
	cert, _ := write(t, dir, "it", time.Now().Add(time.Hour))
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keypair.Load(cert, pipe); err == nil || !strings.Contains(err.Error(), pipe+" is not a regular file") {
		t.Error(err)
	}
}

func TestRenewedCertificateIsShown(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		cert, key := write(t, dir, "it", time.Now().Add(time.Hour))
		p, err := keypair.Load(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		var said said[error]
		go p.Watch(t.Context(), time.Second, said.add, func(string) {})
		var reported []error
		wait := func() { time.Sleep(5 * time.Second); synctest.Wait(); reported = said.list() }
		first := shown(t, p)
		wait()
		if len(reported) != 0 {
			t.Errorf("nothing has changed: %v", reported)
		}

		write(t, dir, "it", time.Now().Add(2*time.Hour))
		wait()
		if second := shown(t, p); len(reported) != 1 || reported[0] != nil || second.NotAfter.Equal(first.NotAfter) {
			t.Errorf("renewed: reported %v, shown until %v", reported, second.NotAfter)
		}

		// Half of a renewal, a broken one, one that is over and one of later leave what was good.
		second := shown(t, p)
		_, other := write(t, dir, "other", time.Now().Add(time.Hour))
		if err := os.Rename(other, key); err != nil {
			t.Fatal(err)
		}
		wait()
		if err := os.WriteFile(cert, []byte("-----BEGIN CERTIFICATE-----\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		wait()
		if err := os.Remove(cert); err != nil {
			t.Fatal(err)
		}
		wait()
		write(t, dir, "it", time.Now().Add(-time.Minute))
		wait()
		write(t, dir, "it", time.Now().Add(6*24*time.Hour))
		wait()
		if !shown(t, p).Equal(second) || len(reported) != 6 {
			t.Errorf("five bad renewals: reported %v", reported)
		}
		for _, err := range reported[1:] {
			if err == nil || strings.Contains(err.Error(), "PRIVATE") {
				t.Errorf("reported %v", err)
			}
		}

		write(t, dir, "it", time.Now().Add(3*time.Hour))
		wait()
		if len(reported) != 7 || reported[6] != nil || shown(t, p).Equal(second) {
			t.Errorf("good again: reported %v", reported)
		}
	})
}

// TestCertificateOfLaterIsReportedWhenItIsInForce: the last word in the log is not that it cannot be used.
func TestCertificateOfLaterIsReportedWhenItIsInForce(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		cert, key := write(t, dir, "it", time.Now().Add(12*time.Hour))
		p, err := keypair.Load(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		var said said[error]
		go p.Watch(t.Context(), time.Second, said.add, func(string) {})
		first := shown(t, p)
		write(t, dir, "it", time.Now().Add(25*time.Hour)) // valid in an hour
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := said.list(); len(got) != 1 || got[0] == nil || !shown(t, p).Equal(first) {
			t.Errorf("of later: reported %v", got)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got := said.list(); len(got) != 2 || got[1] != nil || shown(t, p).Equal(first) {
			t.Errorf("in force: reported %v", got)
		}
	})
}

// TestCertificateThatEndsIsNamed: an operator who has no metric of it learns of a certificate
// that nobody renews from the log and from /readyz, before it ends and after.
func TestCertificateThatEndsIsNamed(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		cert, key := write(t, dir, "it", time.Now().Add(3*time.Hour)) // of 24
		p, err := keypair.Load(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		var said said[string]
		go p.Watch(t.Context(), time.Minute, func(error) {}, said.add)
		for _, c := range []struct {
			after time.Duration
			want  []string // a word of each warning so far
		}{{10 * time.Minute, nil}, {time.Hour, []string{"ends on"}}, {time.Hour, []string{"ends on"}}, {time.Hour, []string{"ends on", "ended on"}}} {
			time.Sleep(c.after)
			synctest.Wait()
			warned := said.list()
			if len(warned) != len(c.want) {
				t.Fatalf("warned %q; want %q", warned, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(warned[i], want) || !strings.Contains(warned[i], cert) {
					t.Errorf("warned %q; want %q and the file", warned[i], want)
				}
			}
			if now := p.Warnings(); len(c.want) == 0 && len(now) != 0 || len(c.want) > 0 && (len(now) != 1 || now[0] != warned[len(warned)-1]) {
				t.Errorf("/readyz has %q; the log had %q", now, warned)
			}
		}
		write(t, dir, "it", time.Now().Add(24*time.Hour))
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if now := p.Warnings(); len(now) != 0 || len(said.list()) != 2 {
			t.Errorf("renewed: %q, logged %q", now, said.list())
		}
		if (*keypair.Pair)(nil).Warnings() != nil {
			t.Error("a server without a certificate has a warning of it")
		}
	})
}

// A said is what a watcher has said so far.
type said[T any] struct {
	mu  sync.Mutex
	all []T
}

func (s *said[T]) add(one T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, one)
}

func (s *said[T]) list() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// shown is the certificate that a client would be shown.
func shown(t *testing.T, p *keypair.Pair) *x509.Certificate {
	t.Helper()
	c, err := p.Config().GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf
}

// write makes a certificate and its key.
func write(t *testing.T, dir, name string, notAfter time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: notAfter.Add(-24 * time.Hour), NotAfter: notAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}
