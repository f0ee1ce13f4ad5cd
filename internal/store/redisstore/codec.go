package redisstore

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"sync"
	"time"
	"unique"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// A value in Redis is
//
//	version, then ID, user ID, time seen, as-of (8 bytes each), hash (33),
//	then reason, role, name and, from version 2 on, the class of the device
//	(a length byte and the text each), in version 4 the admin who acts
//	(8 bytes), in version 5 the method by which an issuer has
//	authenticated the user (a length byte and the text) and when (8 bytes), from version 3 on
//	the slot (1 byte), then 16 bytes of MAC
//
// with times in Unix milliseconds. An alive session has an empty reason; a
// value with a reason is a tombstone. The MAC is HMAC-SHA-256 under the
// deployment's key over the Redis key and all before it, so who can only
// write to Redis cannot make a login, and no value can stand in for another.
const (
	codecVersion = 1 // of a device of the class "other", and of a tombstone
	withClass    = 2
	withSlot     = 3 // of another slot than 0; the class is empty for "other"
	withAct      = 4 // an impersonation that lives: a release that does not know it asks the row
	withAuth     = 5 // of an alive session that an issuer has opened, in any slot; the class as in version 3
	macLen       = 16
	fixedLen     = 1 + 4*8 + len(session.Hash{})
	maxText      = 255
)

var errForeign = errors.New("a value that this deployment did not write")

type codec struct {
	// macs are signers under the deployment's key. Making one costs more than the rest
	// of reading a value.
	macs *sync.Pool
}

// A signer is an HMAC, and room for what goes in and comes out.
type signer struct {
	hash.Hash
	room []byte
}

// keyFor is the key for what is of the database with that number in Redis.
func keyFor(key []byte, number int) []byte {
	if number == 0 {
		return key
	}
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "redis database %d", number) // never fails
	return mac.Sum(nil)
}

func newCodec(key []byte) codec {
	key = bytes.Clone(key)
	return codec{&sync.Pool{New: func() any { return &signer{Hash: hmac.New(sha256.New, key)} }}}
}

func (c codec) encode(key string, s *session.Session) ([]byte, error) {
	texts, version := []string{string(s.Ended), s.Role, s.Username}, byte(codecVersion)
	class := s.Device.ClassName()
	if class == session.OtherDevice || !s.Alive() {
		class = ""
	}
	auth := s.Auth
	if !s.Alive() {
		auth = nil
	}
	switch {
	case s.Act != 0 && s.Alive() && s.Slot != 0:
		texts, version = append(texts, class), withAct
	case auth != nil:
		texts, version = append(texts, class, auth.Method), withAuth
	case s.Slot != 0:
		texts, version = append(texts, class), withSlot
	case class != "":
		texts, version = append(texts, class), withClass
	}
	b := make([]byte, 0, fixedLen+13+len(s.Ended)+len(s.Role)+len(s.Username)+len(class)+macLen) // an issuer's takes more
	b = append(b, version)
	for _, n := range []int64{int64(s.ID), int64(s.UserID), s.Seen.UnixMilli(), s.AsOf.UnixMilli()} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	b = append(b, s.Hash[:]...)
	for _, text := range texts {
		if len(text) > maxText {
			return nil, fmt.Errorf("redisstore: a text of %d bytes does not fit", len(text))
		}
		b = append(append(b, byte(len(text))), text...)
	}
	if version == withAct {
		b = binary.BigEndian.AppendUint64(b, uint64(s.Act))
	}
	if version == withAuth {
		b = binary.BigEndian.AppendUint64(b, uint64(auth.At.UnixMilli()))
	}
	if version >= withSlot {
		b = append(b, byte(s.Slot))
	}
	mac := c.mac(key, b)
	return append(b, mac[:]...), nil
}

// decode is the session in a value, if this deployment wrote it under key for
// the session with that ID.
func (c codec) decode(key string, id idworker.ID, b []byte) (session.Session, error) {
	if len(b) < fixedLen+3+macLen || b[0] < codecVersion || b[0] > withAuth {
		return session.Session{}, errForeign
	}
	body := b[:len(b)-macLen]
	if mac := c.mac(key, body); !hmac.Equal(b[len(body):], mac[:]) {
		return session.Session{}, errForeign
	}
	number := func(i int) int64 { return int64(binary.BigEndian.Uint64(body[1+8*i:])) }
	s := session.Session{
		ID: idworker.ID(number(0)), UserID: idworker.ID(number(1)),
		Seen: time.UnixMilli(number(2)).UTC(), AsOf: time.UnixMilli(number(3)).UTC(),
	}
	rest := body[1+4*8:]
	rest = rest[copy(s.Hash[:], rest):]
	if b[0] >= withSlot {
		s.Slot, rest = session.Slot(rest[len(rest)-1]), rest[:len(rest)-1]
		if s.Slot == 0 && b[0] != withAuth || s.Slot >= session.MaxSlots {
			return session.Session{}, errForeign
		}
	}
	if b[0] == withAct {
		if len(rest) < 8 {
			return session.Session{}, errForeign
		}
		s.Act, rest = idworker.ID(binary.BigEndian.Uint64(rest[len(rest)-8:])), rest[:len(rest)-8]
	}
	var at []byte
	if b[0] == withAuth && len(rest) >= 8 {
		rest, at = rest[:len(rest)-8], rest[len(rest)-8:]
	}
	var texts [5]string
	for i := range texts[:textsOf(b[0])] {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
			return session.Session{}, errForeign
		}
		texts[i], rest = string(rest[1:1+int(rest[0])]), rest[1+int(rest[0]):]
	}
	if len(rest) != 0 || s.ID != id || texts[3] == session.OtherDevice ||
		b[0] == withAuth && (texts[0] != "" || texts[4] == "" || at == nil) ||
		b[0] == withAct && (texts[0] != "" || s.Act <= 0) ||
		b[0] == withClass && (texts[0] != "" || texts[3] == "") || b[0] == withSlot && texts[0] != "" && texts[3] != "" {
		return session.Session{}, errForeign
	}
	s.Ended, s.Role, s.Username = session.Reason(texts[0]), texts[1], texts[2]
	s.Device = session.DeviceOf(texts[3], "")
	if at != nil {
		s.Auth = &session.Auth{Method: unique.Make(texts[4]).Value(), At: time.UnixMilli(int64(binary.BigEndian.Uint64(at))).UTC()}
	}
	return s, nil
}

// textsOf is how many texts a value of that version has.
func textsOf(version byte) int {
	return []int{codecVersion: 3, withClass: 4, withSlot: 4, withAct: 4, withAuth: 5}[version]
}

func (c codec) mac(key string, body []byte) (mac [macLen]byte) {
	m, _ := c.macs.Get().(*signer)
	defer c.macs.Put(m)
	m.Reset()
	m.room = append(append(binary.BigEndian.AppendUint64(m.room[:0], uint64(len(key))), key...), body...)
	_, _ = m.Write(m.room)
	m.room = m.Sum(m.room[:0])
	return [macLen]byte(m.room)
}
