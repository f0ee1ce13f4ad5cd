package session

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/text/secure/precis"

	"github.com/flakepass/flakepass/internal/domain/invalid"
	"github.com/flakepass/flakepass/internal/domain/policy"
)

// A Device is what a client said of itself when its session began. It is shown to
// people and never trusted: an app may say anything. It does not change. A nil Device
// is one of the class [OtherDevice] without a name.
type Device struct {
	Class string // one of those of the policy, of that time
	Name  string // for people, at most [MaxDeviceName] characters; may be empty
	// Key is a hash of what the app says identifies the device; empty if it says nothing. It
	// is never shown, and a cache has none.
	Key string
}

// OtherDevice is the class of a device of which the client says nothing.
const OtherDevice = policy.OtherClass

// MaxDeviceID is how many bytes the ID of a device has at most that an app sends.
const MaxDeviceID = 256

// keySize is how many bytes are kept of a hash: enough that two devices of one user never
// have the same, and no more.
const keySize = 16

// MaxDeviceName is how many characters the name of a device has at most.
const MaxDeviceName = 64

// Label is the name; that of a nil Device is empty.
func (d *Device) Label() string {
	if d == nil {
		return ""
	}
	return d.Name
}

// ParseDevice is the device that a client describes. An empty class is [OtherDevice];
// another one than classes, which are those of the policy, is an [*invalid.Error] for the
// field device.class.
//
// A name is made to fit, and never refused: it comes from the settings of a phone, and
// nobody is to be locked out by what the phone is called. It is kept in the form of the
// PRECIS profile Nickname (RFC 8266), without the mapping to lower case: characters that
// do not show are left out, compatible ones are replaced, spaces are single, and what
// is beyond [MaxDeviceName] is cut off.
//
// id is opaque: what an app keeps on the device to know it again. Only a hash is kept.
func ParseDevice(classes []string, class, name, id string) (*Device, error) {
	class = cmp.Or(class, OtherDevice)
	if !slices.Contains(classes, class) {
		return nil, invalid.Of("device.class", "unknown_value", "must be one of "+strings.Join(classes, ", "))
	}
	if len(id) > MaxDeviceID {
		return nil, invalid.Of("device.id", "too_long", fmt.Sprintf("must have at most %d bytes", MaxDeviceID))
	}
	d := DeviceOf(class, deviceName(name))
	if id == "" {
		return d, nil
	}
	sum := sha256.Sum256([]byte(id))
	return d.WithKey(string(sum[:keySize])), nil
}

// WithKey is the device with that key, or as it is if the key is empty.
func (d *Device) WithKey(key string) *Device {
	if key == "" {
		return d
	}
	return &Device{d.ClassName(), d.Label(), key}
}

// Of reports whether the session is on a device of that class; "" is any. An impersonation is
// on none.
func (s *Session) Of(class string) bool {
	return class == "" || s.Act == 0 && s.Device.ClassName() == class
}

func deviceName(text string) string {
	// What is behind is cut off in any case, and a request may bring thousands.
	text = strings.ToValidUTF8(text[:min(len(text), 16*MaxDeviceName)], "")
	name, err := precis.Nickname.String(text)
	if err != nil {
		name, _ = precis.Nickname.String(strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return ' '
			}
			if _, err := precis.Nickname.String(string(r)); err != nil {
				return -1
			}
			return r
		}, text)) // what is in a wrong place is no name
	}
	if runes := []rune(name); len(runes) > MaxDeviceName {
		return deviceName(string(runes[:MaxDeviceName])) // what the cut has left may be in a wrong place
	}
	return name
}

// DeviceOf is a device as it is kept: nil for the class [OtherDevice], or none, without a
// name. Those without a name are shared, so that they cost a cache only a pointer.
func DeviceOf(class, name string) *Device {
	switch {
	case name != "":
		return &Device{Class: class, Name: name}
	case class == "" || class == OtherDevice:
		return nil
	}
	held, ok := nameless.Load(class)
	if !ok {
		held, _ = nameless.LoadOrStore(class, &Device{Class: class})
	}
	d, _ := held.(*Device) // nothing else is stored
	return d
}

// nameless are the devices without a name by their class. There are few: a class comes
// from [ParseDevice], or from a row or a cache that has it from there.
var nameless sync.Map

// WithoutName is the device without its name and its key, for a cache.
func (d *Device) WithoutName() *Device {
	if d == nil || d.Name == "" && d.Key == "" {
		return d
	}
	return DeviceOf(d.Class, "")
}

// An Auth is how an issuer has authenticated the user of a session, and when. It does not
// change. A nil Auth is that of a login with a password: [PasswordMethod], when the session
// began.
type Auth struct {
	Method string
	At     time.Time
}

// PasswordMethod is the method of a login with a password, as RFC 8176 calls it.
const PasswordMethod = "pwd"
