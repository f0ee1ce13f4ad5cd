package ratelimit

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/flakepass/flakepass/internal/domain/hidden"
)

// The text of a device credential is
//
//	fpd_ + 52 characters of base64url + 8 hexadecimal digits of CRC-32
//
// of 16 random bytes that distinguish devices, 7 bytes of the time of
// issue in Unix milliseconds, and 16 bytes of HMAC-SHA256 over both and the name of
// the account, by a key of the deployment.
const (
	devicePrefix = "fpd_"
	deviceID     = 16
	deviceSigned = deviceID + 7
	deviceBytes  = deviceSigned + 16
	deviceSumAt  = len(devicePrefix) + deviceBytes/3*4

	// DeviceCredentialLen is the length of every device credential's text, in bytes.
	DeviceCredentialLen = deviceSumAt + 8
)

// deviceLife is how long a device is known after the last login on it.
const deviceLife = 90 * 24 * time.Hour

// ErrDevice means that a text is no device credential.
var ErrDevice = errors.New("ratelimit: not a device credential")

// A DeviceCredential shows that an account was logged in to before on the
// device that has it. It opens nothing: with it attempts are counted by
// themselves, so that strangers cannot keep its owner out. It outlives the login. It
// cannot print itself: its text belongs in the answer to a login and in the next login. The
// zero DeviceCredential is none.
type DeviceCredential struct{ hidden.Text }

// ParseDeviceCredential reads the text of a device credential. It returns
// [ErrDevice] unless the text has the exact length, alphabet and checksum. Whether
// it is one of this deployment, and of which account, [Limiter.Login] finds out.
func ParseDeviceCredential(s string) (DeviceCredential, error) {
	if len(s) != DeviceCredentialLen || !strings.HasPrefix(s, devicePrefix) || s[deviceSumAt:] != deviceSum(s[:deviceSumAt]) {
		return DeviceCredential{}, ErrDevice
	}
	if b, err := base64.RawURLEncoding.Strict().DecodeString(s[len(devicePrefix):deviceSumAt]); err != nil || len(b) != deviceBytes {
		return DeviceCredential{}, ErrDevice
	}
	return DeviceCredential{hidden.Of(s)}, nil
}

func deviceSum(text string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) }

// NewDevice is the credential of the device on which that account was just logged
// in to. A device that has shown one of that account stays the same device.
func (l *Limiter) NewDevice(a Attempt) DeviceCredential {
	b := make([]byte, deviceSigned, deviceBytes)
	if id, ok := l.deviceID(a); ok {
		copy(b, id)
	} else {
		_, _ = rand.Read(b[:deviceID]) // never fails
	}
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], uint64(time.Now().UnixMilli()))
	copy(b[deviceID:], at[1:])
	text := devicePrefix + base64.RawURLEncoding.EncodeToString(append(b, l.signed(a.Account, b)...))
	text += deviceSum(text)
	return DeviceCredential{hidden.Of(text)}
}

// deviceID is the device that a has shown a credential of, if that is of this
// account and deployment, and not too old. It does no I/O.
func (l *Limiter) deviceID(a Attempt) ([]byte, bool) {
	if a.Credential.None() {
		return nil, false
	}
	b, err := base64.RawURLEncoding.DecodeString(a.Credential.Reveal()[len(devicePrefix):deviceSumAt])
	if err != nil || !hmac.Equal(b[deviceSigned:], l.signed(a.Account, b[:deviceSigned])) {
		return nil, false
	}
	var at [8]byte
	copy(at[1:], b[deviceID:deviceSigned])
	age := time.Since(time.UnixMilli(int64(binary.BigEndian.Uint64(at[:]))))
	return b[:deviceID], age < deviceLife && age > -deviceLife
}

func (l *Limiter) signed(account string, b []byte) []byte {
	mac := hmac.New(sha256.New, l.Key)
	mac.Write([]byte("device credential\x00"))
	mac.Write(b) // of one length
	mac.Write([]byte(account))
	return mac.Sum(nil)[:deviceBytes-deviceSigned]
}
