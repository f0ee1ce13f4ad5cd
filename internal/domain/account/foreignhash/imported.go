package foreignhash

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// An Imported is a hash as a file has it: a text to keep as it is, or a digest to
// put into Argon2id. It is one of the two.
type Imported struct {
	Kept   string
	Digest *Digest
}

// String hides the hash.
func (Imported) String() string { return "[redacted]" }

// A notation is how another system writes a hash. read gets what is behind the prefix.
type notation struct {
	prefix string
	read   func(rest string, fb *Firebase) (Imported, error)
}

// notations are all but the kept formats; no prefix begins another one.
var notations = []notation{
	{"argon2$argon2i$", as("$argon2i$")},                    // Django
	{"bcrypt$", as("")},                                     // Django
	{"pbkdf2_sha1$", django("$pbkdf2$")},                    // Django
	{"pbkdf2_sha256$", django("$pbkdf2-sha256$")},           // Django
	{"scrypt$", djangoScrypt},                               // Django
	{"AQAAAA", aspNet},                                      // ASP.NET Core Identity, version 3
	{"$pbkdf2-sha1$", phc("$pbkdf2$")},                      // the PHC string format
	{"$pbkdf2-sha256$i=", phcFrom("i=", "$pbkdf2-sha256$")}, // the PHC string format
	{"$pbkdf2-sha512$i=", phcFrom("i=", "$pbkdf2-sha512$")}, // the PHC string format
	{"firebase$", ofFirebase},                               // ours, of two members of Firebase's export
	{"md5$", hexDigest("md5")},                              // Django: the salt is before the password
	{"sha1$", hexDigest("sha1")},                            // Django
	{"sha256$", hexDigest("sha256")},                        // as Django writes the two before
	{"{MD5}", ldap("md5", 16)},                              // LDAP: the salt is behind the password
	{"{SMD5}", ldap("md5", 16)},                             // LDAP
	{"{SHA}", ldap("sha1", 20)},                             // LDAP
	{"{SSHA}", ldap("sha1", 20)},                            // LDAP
	{"{SHA256}", ldap("sha256", 32)},                        // LDAP
	{"{SSHA256}", ldap("sha256", 32)},                       // LDAP
}

// ReadImported reads a hash as it stands in a file: a kept one, or one as another system
// writes it. Firebase's need the parameters of their project; fb may be nil for all
// others. It fails as [Read] does.
func ReadImported(text string, fb *Firebase) (Imported, error) {
	for _, n := range notations {
		rest, ok := strings.CutPrefix(text, n.prefix)
		if !ok {
			continue
		}
		if len(text) > 4*MaxText {
			return Imported{}, fmt.Errorf("foreignhash: %w: too long", ErrForm)
		}
		found, err := n.read(rest, fb)
		if err != nil {
			return Imported{}, fmt.Errorf("foreignhash: %w", err)
		}
		return found, nil
	}
	if _, err := Read(text); err != nil {
		return Imported{}, err
	}
	return Imported{Kept: text}, nil
}

// kept is text if it can be read when somebody logs in.
func kept(text string) (string, error) {
	_, err := Read(text)
	return text, err
}

func keep(text string, err error) (Imported, error) {
	if err == nil {
		text, err = kept(text)
	}
	if err != nil {
		return Imported{}, err
	}
	return Imported{Kept: text}, nil
}

// as is for a prefix before a kept text.
func as(prefix string) func(string, *Firebase) (Imported, error) {
	return func(rest string, _ *Firebase) (Imported, error) { return keep(prefix+rest, nil) }
}

// django reads rounds$salt$key, with a salt of text and padded base64.
func django(prefix string) func(string, *Firebase) (Imported, error) {
	return func(rest string, _ *Firebase) (Imported, error) {
		part := strings.Split(rest, "$")
		if len(part) != 3 {
			return Imported{}, ErrForm
		}
		key, err := decode(base64.StdEncoding, part[2], minKey, maxKey)
		if err != nil {
			return Imported{}, err
		}
		return keep(keepPBKDF2(prefix, part[0], []byte(part[1]), key))
	}
}

// djangoScrypt reads N$salt$r$p$key.
func djangoScrypt(rest string, _ *Firebase) (Imported, error) {
	part := strings.Split(rest, "$")
	if len(part) != 5 {
		return Imported{}, ErrForm
	}
	n, err := number(part[0], 2, 1<<maxLogN)
	if err != nil {
		return Imported{}, err
	}
	if n&(n-1) != 0 {
		return Imported{}, fmt.Errorf("%w: N is no power of 2", ErrForm)
	}
	key, err := decode(base64.StdEncoding, part[4], minKey, maxKey)
	if err != nil {
		return Imported{}, err
	}
	return keep(scryptText("$scrypt$", bits.Len(uint(n))-1, part[2], part[3], []byte(part[1]), key), nil)
}

func scryptText(prefix string, logN int, r, p string, salt, key []byte) string {
	return fmt.Sprintf("%sln=%d,r=%s,p=%s$%s$%s", prefix, logN, r, p, raw64.EncodeToString(salt), raw64.EncodeToString(key))
}

// aspNet reads base64 of: version 1, the hash, the rounds and the length of the salt in
// 32 bits each, the salt, and the key.
func aspNet(rest string, _ *Firebase) (Imported, error) {
	b, err := decode(base64.StdEncoding, "AQAAAA"+rest, 14, 4*MaxText)
	if err != nil {
		return Imported{}, err
	}
	word := func(i int) uint32 { return binary.BigEndian.Uint32(b[1+4*i:]) }
	prefix := map[uint32]string{0: "$pbkdf2$", 1: "$pbkdf2-sha256$", 2: "$pbkdf2-sha512$"}[word(0)]
	if size := word(2); prefix == "" || size > maxSalt || int(size) > len(b)-13 {
		return Imported{}, ErrForm
	}
	salt, key := b[13:13+word(2)], b[13+word(2):]
	return keep(keepPBKDF2(prefix, strconv.FormatUint(uint64(word(1)), 10), salt, key))
}

// phc reads i=310000,l=32$salt$key, with the base64 of the PHC string format.
func phc(prefix string) func(string, *Firebase) (Imported, error) {
	return func(rest string, _ *Firebase) (Imported, error) {
		part := strings.Split(rest, "$")
		if len(part) != 3 {
			return Imported{}, ErrForm
		}
		rounds, length, _ := strings.Cut(part[0], ",")
		rounds, ok := strings.CutPrefix(rounds, "i=")
		salt, key, err := saltAndKey(raw64, part[1], part[2], 1, maxKey)
		if err != nil {
			return Imported{}, err
		}
		if !ok || length != "" && length != "l="+strconv.Itoa(len(key)) {
			return Imported{}, ErrForm
		}
		return keep(keepPBKDF2(prefix, rounds, salt, key))
	}
}

// phcFrom is phc for a rest whose beginning was needed to tell it from a kept text.
func phcFrom(begin, prefix string) func(string, *Firebase) (Imported, error) {
	return func(rest string, fb *Firebase) (Imported, error) { return phc(prefix)(begin+rest, fb) }
}

// hexDigest reads salt$digest, where the salt is text before the password.
func hexDigest(name string) func(string, *Firebase) (Imported, error) {
	return func(rest string, _ *Firebase) (Imported, error) {
		salt, digits, ok := strings.Cut(rest, "$")
		sum, err := hex.DecodeString(digits)
		if !ok || err != nil {
			return Imported{}, ErrForm
		}
		return digestOf(name, false, []byte(salt), sum)
	}
}

// ldap reads base64 of the digest, and of the salt behind it (RFC 2307).
func ldap(name string, size int) func(string, *Firebase) (Imported, error) {
	return func(rest string, _ *Firebase) (Imported, error) {
		b, err := decode(base64.StdEncoding, rest, size, size+maxSalt)
		if err != nil {
			return Imported{}, err
		}
		return digestOf(name, true, b[size:], b[:size])
	}
}

func digestOf(name string, after bool, salt, sum []byte) (Imported, error) {
	if len(sum) != len(digests[name](nil)) || len(salt) > maxSalt {
		return Imported{}, fmt.Errorf("%w: its length", ErrForm)
	}
	return Imported{Digest: &Digest{name: name, after: after, salt: salt, sum: sum}}, nil
}
