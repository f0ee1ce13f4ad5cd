// Package keypair holds the certificate that a server shows and the key that
// proves it, and reads both anew when their files change, so that a renewal needs
// no restart.
package keypair

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// maxFile is how long either file may be, in bytes: a chain of certificates has
// some thousands.
const maxFile = 1 << 20

// skew is by how much this machine's clock may be behind an authority's: a certificate of just
// now is in force.
const skew = time.Minute

// A Pair is a certificate and its key. Make one with [Load].
type Pair struct {
	certFile, keyFile string
	current           atomic.Pointer[tls.Certificate]
	sum               [sha256.Size]byte // of both files; of the one goroutine that watches
}

// Load reads a certificate, with the chain that leads to it, and its key: PEM
// files, as certificate authorities write them. It fails, with a sentence
// that names the file, if one cannot be read, if they do not belong together, or
// if the certificate has expired or is not valid yet.
func Load(certFile, keyFile string) (*Pair, error) {
	p := &Pair{certFile: certFile, keyFile: keyFile}
	if _, err := p.read(time.Now()); err != nil {
		return nil, err
	}
	return p, nil
}

// Config shows the certificate of the moment: TLS 1.2 and newer, with the suites
// that Go considers secure, which all have forward secrecy.
func (p *Pair) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return p.current.Load(), nil
		},
	}
}

// NotAfter is when the certificate expires.
func (p *Pair) NotAfter() time.Time { return p.current.Load().Leaf.NotAfter }

// Warnings are what an operator should know: the certificate has ended, or it has less
// than a tenth of its time left. What renews a certificate does so before. Without a
// certificate p is nil, and there are none.
func (p *Pair) Warnings() []string {
	if p == nil {
		return nil
	}
	leaf, now := p.current.Load().Leaf, time.Now()
	end := leaf.NotAfter.UTC().Format(time.RFC3339)
	switch {
	case now.After(leaf.NotAfter):
		return []string{"the certificate of the API ended on " + end + ", and clients refuse it; renew " + p.certFile}
	case leaf.NotAfter.Sub(now) < leaf.NotAfter.Sub(leaf.NotBefore)/10:
		return []string{"the certificate of the API ends on " + end + " and was not renewed yet; renew " + p.certFile}
	}
	return nil
}

// Watch looks at both files, that often, until ctx ends. It compares what is in
// them and not when they were written: a renewal may swap a link of a folder
// above. changed is called with nil when others are in force, and with the reason
// when they cannot be: the ones of before stay, and changed is not called again
// until the files change, or come into force. warn is called with each warning of [Pair.Warnings], once.
func (p *Pair) Watch(ctx context.Context, every time.Duration, changed func(error), warn func(string)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	last, failing, warned := p.sum, false, ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		sum, err := p.read(time.Now())
		if sum != last || failing != (err != nil) { // those of later come into force unchanged
			changed(err)
		}
		last, failing = sum, err != nil
		for _, text := range p.Warnings() {
			if text != warned {
				warn(text)
			}
			warned = text
		}
	}
}

// read puts what is in the files in force, unless it is already, and returns
// what it saw there.
func (p *Pair) read(now time.Time) (sum [sha256.Size]byte, err error) {
	cert, err := ReadFile(p.certFile)
	if err != nil {
		return sum, fmt.Errorf("certificate: %w", err)
	}
	key, err := ReadFile(p.keyFile)
	if err != nil {
		return sum, fmt.Errorf("key: %w", err)
	}
	sum = sha256.Sum256(bytes.Join([][]byte{cert, key}, []byte{0}))
	if sum == p.sum {
		return sum, nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		// Its sentences name forms and lengths, and nothing in the key.
		return sum, fmt.Errorf("%s and %s are no pair: %w", p.certFile, p.keyFile, err)
	}
	if err := usable(pair.Leaf, now); err != nil {
		return sum, fmt.Errorf("%s: %w", p.certFile, err)
	}
	p.current.Store(&pair)
	p.sum = sum
	return sum, nil
}

func usable(leaf *x509.Certificate, now time.Time) error {
	if leaf == nil {
		return errors.New("no certificate in it")
	}
	if leaf.NotBefore.After(now.Add(skew)) {
		return fmt.Errorf("the certificate is valid only from %s", leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	if now.After(leaf.NotAfter) {
		return fmt.Errorf("the certificate ended on %s; renew it", leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return nil
}

// ReadFile reads a regular file of at most a few KiB, and fails on any other: a named pipe
// would wait, and a device has no end.
func ReadFile(path string) ([]byte, error) {
	// To open a named pipe that nobody writes to would wait, and a signal would not end that.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	body, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(body) > maxFile {
		err = fmt.Errorf("%s is longer than %d KiB", path, maxFile>>10)
	}
	return body, err
}
