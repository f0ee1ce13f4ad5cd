package foreignhash_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account/foreignhash"
)

const (
	key32 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	salt  = "c29tZXNhbHRzb21lc2FsdA"
	body  = "CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"
)

// TestCostBombsAreRefused: a hash that would hold a server up is refused when it is
// imported, and when a row has it all the same; so is one that protects nothing.
func TestCostBombsAreRefused(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{"$2b$14$" + body, true}, {"$2b$04$" + body, true}, {"$2b$15$" + body, false}, {"$2b$31$" + body, false}, {"$2b$03$" + body, false}, {"$2b$00$" + body, false},
		{"bcrypt_sha256$$2b$15$" + body, false},
		{"$pbkdf2-sha256$2000000$" + salt + "$" + key32, true}, {"$pbkdf2-sha256$1000$" + salt + "$" + key32, true},
		{"$pbkdf2-sha256$2000001$" + salt + "$" + key32, false}, {"$pbkdf2-sha256$999$" + salt + "$" + key32, false},
		{"$pbkdf2-sha512$99999999999999999999$" + salt + "$" + key32, false},
		{"$scrypt$ln=18,r=8,p=1$" + salt + "$" + key32, true}, {"$scrypt$ln=10,r=8,p=16$" + salt + "$" + key32, true},
		{"$scrypt$ln=19,r=8,p=1$" + salt + "$" + key32, false}, {"$scrypt$ln=18,r=8,p=2$" + salt + "$" + key32, false},
		{"$scrypt$ln=9,r=8,p=1$" + salt + "$" + key32, false}, {"$scrypt$ln=63,r=8,p=1$" + salt + "$" + key32, false},
		{"$scrypt$ln=20,r=32,p=16$" + salt + "$" + key32, false}, {"$scrypt$ln=14,r=8,p=17$" + salt + "$" + key32, false},
		{"$firebase-scrypt$ln=19,r=8,p=1$" + salt + "$" + key32, false},
		{"$argon2i$v=19$m=262144,t=1,p=1$" + salt + "$" + key32, true}, {"$argon2i$v=19$m=262145,t=1,p=1$" + salt + "$" + key32, false},
		{"$argon2i$v=19$m=65536,t=17,p=1$" + salt + "$" + key32, false}, {"$argon2i$v=19$m=65536,t=1,p=17$" + salt + "$" + key32, false},
		{"$argon2i$v=19$m=7,t=1,p=1$" + salt + "$" + key32, false},
		{"$over-md5$before$$argon2id$v=19$m=262145,t=1,p=1$" + salt + "$" + key32, false},
	} {
		_, err := foreignhash.Read(c.text)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, foreignhash.ErrCost) {
			t.Errorf("%s: %v, want ok %v", c.text, err, c.ok)
		}
		if _, imported := foreignhash.ReadImported(c.text, nil); (imported == nil) != c.ok {
			t.Errorf("%s is imported: %v", c.text, imported)
		}
	}
	long := base64.StdEncoding.EncodeToString(make([]byte, 32))
	for _, text := range []string{
		"pbkdf2_sha256$2000001$salt$" + long, "scrypt$1048576$salt$8$1$" + long, "scrypt$2097152$salt$8$1$" + long, "scrypt$16384$salt$8$999$" + long,
		"AQAAAAEAf////wAAAAR" + strings.Repeat("A", 49), "argon2$argon2i$v=19$m=999999,t=1,p=1$" + salt + "$" + key32, "bcrypt$$2b$16$" + body,
		"$pbkdf2-sha256$i=4294967295,l=32$" + salt + "$" + key32,
	} {
		if found, err := foreignhash.ReadImported(text, nil); !errors.Is(err, foreignhash.ErrCost) && !errors.Is(err, foreignhash.ErrForm) {
			t.Errorf("%s: %+v, %v", text, found, err)
		}
	}
}

// TestOneTextForEachHash: a kept text is read only as it is written.
func TestOneTextForEachHash(t *testing.T) {
	good := "$pbkdf2-sha256$1000$" + salt + "$" + key32
	if _, err := foreignhash.Read(good); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "$", "$2b$", "$2b$10$", "$2x$10$" + body, "$2b$1$" + body, "$2b$010$" + body, "$2b$10$" + body + "x", "$2b$10$" + body + "\n", "$2b$+9$" + body,
		"$2b$10$CCCCCCCCCCCCCCCCCCCCCCE5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", // bits behind the last byte of the salt
		"bcrypt_sha256$", "bcrypt_sha256$$2x$10$" + body,
		good + "\n", good + "=", good + "$", " " + good, strings.Replace(good, "1000", "01000", 1), strings.Replace(good, "1000", "1e3", 1), strings.Replace(good, "1000", "-1000", 1),
		strings.Replace(good, "c29t", "c2\n9t", 1), "$pbkdf2-sha256$1000$$" + key32, "$pbkdf2-sha256$1000$" + salt + "$", "$pbkdf2-sha256$1000$" + salt + "$AAAA",
		"$pbkdf2$1000$" + salt + "$" + key32, // longer than SHA-1
		"$scrypt$ln=14,r=8$" + salt + "$" + key32, "$scrypt$r=8,ln=14,p=1$" + salt + "$" + key32, "$scrypt$ln=014,r=8,p=1$" + salt + "$" + key32,
		"$argon2i$v=16$m=64,t=1,p=1$" + salt + "$" + key32, "$argon2i$m=64,t=1,p=1$" + salt + "$" + key32, "$argon2i$v=19$m=64,t=1,p=1$AAAA$" + key32,
		"$over-md5$before$$argon2i$v=19$m=64,t=1,p=1$" + salt + "$" + key32, "$over-md5$behind$$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + key32,
		"$over-md4$before$$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + key32,
		"$pbkdf2-sha256$1000$" + strings.Repeat("A", 300) + "$" + key32,
		"5f4dcc3b5aa765d61d8327deb882cf99", // MD5 alone is never kept
	} {
		if _, err := foreignhash.Read(text); err == nil {
			t.Errorf("%q was read", text)
		} else if strings.Contains(err.Error(), key32[:20]) || strings.Contains(err.Error(), body[:20]) {
			t.Errorf("the error quotes the hash: %v", err)
		}
	}
}

// TestBcryptIsThatOfTheOldSystem: bytes behind the 72nd do not count, as they did not
// count there; a zero byte does not begin the password again.
func TestBcryptIsThatOfTheOldSystem(t *testing.T) {
	h, err := foreignhash.Read("$2a$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui")
	if err != nil {
		t.Fatal(err)
	}
	const all = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for password, want := range map[string]bool{
		all[:72]: true, all[:72] + "chars after 72 are ignored": true, all[:72] + "others": true, all[:71]: false, all[:71] + "x": false, strings.Repeat(all, 13): true,
	} {
		if h.Matches(password) != want {
			t.Errorf("%d bytes: %v", len(password), !want)
		}
	}
	short, err := foreignhash.Read("$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW")
	if err != nil || !short.Matches("U*U") || short.Matches("U*U\x00U*U") {
		t.Errorf("a zero byte, %v", err)
	}
}

// TestDecoyCostsWhatItsFormatDoes: unknown names are compared with these.
func TestDecoyCostsWhatItsFormatDoes(t *testing.T) {
	for _, v := range vectors {
		h, err := foreignhash.Read(v.text)
		if err != nil {
			t.Fatal(err)
		}
		a, err := foreignhash.Decoy(h.Format)
		b, again := foreignhash.Decoy(h.Format)
		if err != nil || again != nil || a == b {
			t.Errorf("%s: %v, %v", h.Format, err, again)
			continue
		}
		if d, err := foreignhash.Read(a); err != nil || d.Format != h.Format || d.KiB != h.KiB || d.Matches(v.password) {
			t.Errorf("%s: %+v, %v", h.Format, d, err)
		}
	}
	for _, format := range []string{"", "$", "$2b$", "$2b$31$", "$2a$10$", "$pbkdf2$", "$pbkdf2$1$", "x", "$argon2id$v=19$m=64,t=1,p=1$"} {
		if text, err := foreignhash.Decoy(format); err == nil {
			t.Errorf("%q: %s", format, text)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, v := range vectors {
		f.Add(v.text)
	}
	f.Add("$over-md5$before$c2FsdA$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + key32)
	f.Add("bcrypt_sha256$$2b$10$" + body)
	f.Fuzz(func(t *testing.T, text string) {
		h, err := foreignhash.Read(text)
		if err != nil {
			return
		}
		if len(text) > foreignhash.MaxText || h.KiB > 256<<10 || h.Format == "" || len(h.Format) > 64 {
			t.Errorf("%q: %+v", text, h)
		}
		if same, err := foreignhash.ReadImported(text, nil); err != nil || same.Kept != text {
			t.Errorf("%q is imported as %q, %v", text, same.Kept, err)
		}
	})
}

func FuzzReadImported(f *testing.F) {
	fb, err := foreignhash.ParseFirebase(firebaseParameters)
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range []string{
		"pbkdf2_sha256$1500000$seasalt$P4UiMPVduVWIL/oS1GzH+IofsccjJNM5hUTikBvi5to=", "AQAAAAAAABAAAAAABHNhbHRLAHkBt2VImr6tSdkm9yHQZaQpwQ==",
		"scrypt$16384$salt$8$1$" + key32 + "=", "md5$salt$5f4dcc3b5aa765d61d8327deb882cf99", "{SSHA}MTIzNDU2Nzg5MDEyMzQ1Njc4OTBzYWx0", "{SHA256}" + key32 + "=",
		"firebase$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==",
		"$pbkdf2-sha256$i=1000,l=32$" + salt + "$" + key32, "argon2$argon2i$v=19$m=64,t=1,p=1$" + salt + "$" + key32, "bcrypt$$2b$10$" + body,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := foreignhash.ReadImported(text, fb)
		if err != nil {
			if found.Kept != "" || found.Digest != nil {
				t.Errorf("%q: an error and %+v", text, found)
			}
			return
		}
		if (found.Kept == "") == (found.Digest == nil) {
			t.Fatalf("%q: %+v", text, found)
		}
		kept := found.Kept
		if found.Digest != nil {
			if kept, err = found.Digest.Keep("$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + key32); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if _, err := foreignhash.Read(kept); err != nil {
			t.Errorf("%q is kept as %q, which no login can read: %v", text, kept, err)
		}
	})
}

func FuzzParseFirebase(f *testing.F) {
	f.Add(firebaseParameters)
	f.Add("rounds: 8\nmem_cost: 14\nbase64_signer_key: \"AAAA\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		fb, err := foreignhash.ParseFirebase(text)
		if (fb == nil) == (err == nil) {
			t.Errorf("%v, %v", fb, err)
		}
		if fb != nil && fmt.Sprintf("%v %s", fb, fb) != "[redacted] [redacted]" {
			t.Error("it prints itself")
		}
	})
}

// TestTheEmptyPasswordOpensNothing: also where the other system has hashed it.
func TestTheEmptyPasswordOpensNothing(t *testing.T) {
	// The last vector of crypt_blowfish is of the empty text.
	for _, text := range []string{"$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy"} {
		if h, err := foreignhash.Read(text); err != nil || h.Matches("") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
