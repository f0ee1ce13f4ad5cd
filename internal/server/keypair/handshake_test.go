package keypair_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/server/keypair"
)

// TestOldVersionsAreRefused: TLS 1.2 and 1.3 are spoken, 1.0 and 1.1 are not.
func TestOldVersionsAreRefused(t *testing.T) {
	p := withRSA(t)
	for version, want := range map[uint16]bool{
		tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true,
	} {
		if err := shake(t, p, &tls.Config{MinVersion: version, MaxVersion: version}); (err == nil) != want {
			t.Errorf("%s: %v, want it spoken: %t", tls.VersionName(version), err, want)
		}
	}
}

// TestWeakSuitesAreRefused: those that Go calls insecure, among them all without
// forward secrecy. The certificate is of RSA, which every one of them could use but
// those for ECDSA.
func TestWeakSuitesAreRefused(t *testing.T) {
	p := withRSA(t)
	refused, spoken := 0, 0
	for _, suite := range tls.InsecureCipherSuites() {
		err := shake(t, p, &tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}})
		if err == nil {
			t.Errorf("%s is spoken", suite.Name)
		}
		refused++
	}
	for _, suite := range tls.CipherSuites() {
		if shake(t, p, &tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID}}) == nil {
			spoken++
		}
	}
	if refused < 5 || spoken == 0 {
		t.Errorf("%d weak suites were tried, and %d others are spoken: the handshake is wrong", refused, spoken)
	}
}

// shake is what comes of a handshake over a pipe.
func shake(t *testing.T, p *keypair.Pair, client *tls.Config) error {
	t.Helper()
	client.InsecureSkipVerify = true
	here, there := net.Pipe()
	defer func() { _ = here.Close() }()
	served := make(chan struct{})
	go func() {
		defer close(served)
		server := tls.Server(there, p.Config())
		if server.HandshakeContext(t.Context()) == nil {
			_, _ = io.Copy(io.Discard, server)
		}
		_ = there.Close()
	}()
	c := tls.Client(here, client)
	err := c.HandshakeContext(t.Context())
	_ = here.Close()
	<-served
	return err
}

// withRSA is a pair whose key is of RSA.
func withRSA(t *testing.T) *keypair.Pair {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "it.crt"), filepath.Join(dir, "it.key")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := keypair.Load(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
