package deploytest

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/internal/proof/e2e"
	"github.com/flakepass/flakepass/internal/proof/testenv"
)

// TestServeTLS: with a certificate the API speaks HTTPS only, with the versions
// that are safe, and shows a renewed certificate without a restart.
func TestServeTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "it.crt"), filepath.Join(dir, "it.key")
	roots := issue(t, cert, key, 1, time.Hour)
	vars := e2e.AnyPort()
	vars["FLAKEPASS_TLS_CERT"], vars["FLAKEPASS_TLS_KEY"] = cert, key
	p := e2e.StartProcess(t, dir, vars)
	address := p.Public

	get := func(roots *x509.CertPool, h2 bool) shaken {
		t.Helper()
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: h2}
		defer tr.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: tr, Timeout: e2e.Patience}).Do(req)
		if err != nil {
			t.Fatalf("%v\n%s", err, p.Log)
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return shaken{resp.StatusCode, resp.ProtoMajor, resp.TLS.Version, resp.TLS.PeerCertificates[0].SerialNumber.Int64(),
			resp.Header.Get("Strict-Transport-Security")}
	}
	if got := get(roots, false); got != (shaken{200, 1, tls.VersionTLS13, 1, "max-age=31536000"}) {
		t.Errorf("HTTP/1.1: %+v", got)
	}
	if got := get(roots, true); got.status != 200 || got.http != 2 {
		t.Errorf("HTTP/2: %+v", got)
	}
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11} {
		c := &tls.Dialer{Config: &tls.Config{RootCAs: roots, MinVersion: version, MaxVersion: version}}
		if conn, err := c.DialContext(t.Context(), "tcp", address); err == nil {
			_ = conn.Close()
			t.Errorf("version %x is spoken", version)
		}
	}
	plain := wholeAnswer(t, address, "GET /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n")
	if !strings.HasPrefix(plain, "HTTP/1.0 400 ") || strings.Contains(plain, "Location") {
		t.Errorf("plain HTTP is answered with\n%s", plain)
	}

	roots = issue(t, cert, key, 2, 10*time.Hour) // an eleventh of its time is left
	testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(p.Log.String(), "certificate read again") }, "the renewed certificate is not read")
	if get(roots, true).serial != 2 {
		t.Error("the old certificate is shown")
	}
	if err := os.WriteFile(key, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(p.Log.String(), "not usable") }, "a broken key is not noticed")
	if got := get(roots, true); got.status != 200 || got.serial != 2 {
		t.Errorf("after a broken renewal: %+v", got)
	}
	if !strings.Contains(string(e2e.Metrics(t, p.Ops)), "flakepass_tls_certificate_end_timestamp_seconds") {
		t.Error("no metric says when the certificate ends")
	}
	testenv.Eventually(t, e2e.Patience, func() bool { return strings.Contains(p.Log.String(), "was not renewed yet") }, "the log names the certificate that ends soon")
	if ready := e2e.NewClient(t, p.Ops).Do("GET", "/readyz", ""); ready.Status != 200 || !strings.Contains(string(ready.Body), "was not renewed yet; renew "+cert) {
		t.Errorf("/readyz: %d %s", ready.Status, ready.Body)
	}
}

// shaken is what came of a handshake and a request.
type shaken struct {
	status, http int
	version      uint16
	serial       int64
	strict       string
}

// TestHTTP2WithoutTLSIsForThoseWhoAsk: only if it is set.
func TestHTTP2WithoutTLSIsForThoseWhoAsk(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"on", "off"} {
		vars := e2e.AnyPort()
		vars["FLAKEPASS_H2C"] = set
		p := e2e.StartProcess(t, t.TempDir(), vars)
		tr := &http.Transport{Protocols: &http.Protocols{}}
		tr.Protocols.SetUnencryptedHTTP2(true)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.Public+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: tr, Timeout: e2e.Patience}).Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if spoken := err == nil && resp.ProtoMajor == 2; spoken != (set == "on") {
			t.Errorf("%s: %v", set, err)
		}
		tr.CloseIdleConnections()
	}
}

// TestIdleConnectionsMakeRoom: a client that holds as many connections as there may
// be, and asks nothing, keeps no client out, whether or not it is a trusted proxy.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	for _, proxies := range []string{"", "127.0.0.1"} {
		vars := e2e.AnyPort()
		vars["FLAKEPASS_MAX_CONNECTIONS"] = "4"
		if proxies != "" {
			vars["FLAKEPASS_TRUSTED_PROXIES"] = proxies
		}
		p := e2e.StartProcess(t, t.TempDir(), vars)
		e2e.NewClient(t, p.Ops).Want(e2e.NewClient(t, p.Ops).Do("GET", "/healthz", ""), 200, "")
		for i := range 8 {
			// The server may not have noticed yet that a connection is idle whose answer
			// is here. A client connects anew then.
			testenv.Eventually(t, e2e.Patience, func() bool {
				return strings.Contains(answered(t, healthAsked(t, p.Public), e2e.Patience), "200")
			}, fmt.Sprintf("proxies %q: connection %d of four", proxies, i+1))
		}
	}
}

// healthAsked opens a connection and sends a request on it.
func healthAsked(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// answered is the first line of an answer, or nothing if none comes in time.
func answered(t *testing.T, conn net.Conn, within time.Duration) string {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return ""
	}
	return line
}

// wholeAnswer sends bytes and reads to the end.
func wholeAnswer(t *testing.T, address, request string) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(e2e.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// issue writes a certificate for this machine that is so old and ends in an hour, and returns who believes it.
func issue(t *testing.T, cert, key string, serial int64, age time.Duration) *x509.CertPool {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-age), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for path, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		next := fmt.Sprintf("%s.%d", path, serial)
		if err := os.WriteFile(next, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, path); err != nil {
			t.Fatal(err)
		}
	}
	it, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(it)
	return roots
}
