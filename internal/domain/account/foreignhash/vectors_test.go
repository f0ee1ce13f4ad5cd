package foreignhash_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/account/foreignhash"
)

// vectors are from the documents of the formats, or follow from them: see each.
var vectors = []struct{ from, text, password string }{
	// The test vectors of crypt_blowfish, by Solar Designer (wrapper.c).
	{"crypt_blowfish", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"},
	{"crypt_blowfish", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK", "U*U*"},
	{"crypt_blowfish", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a", "U*U*U"},
	{"crypt_blowfish, 72 bytes and no more", "$2a$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789chars after 72 are ignored"},
	// The documentation of passlib, for each hash.
	{"passlib", "$pbkdf2-sha256$6400$0ZrzXitFSGltTQnBWOsdAw$Y11AchqV4b0sUisdZd0Xr97KWoymNE0LNNrnEgY4H9M", "password"},
	{"passlib", "$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E", "password"},
	// The README of Argon2's reference implementation: -i, with 16 bytes of salt.
	{"argon2, test.c", "$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA", "password"},
}

func TestVectorsOfTheFormats(t *testing.T) {
	for _, v := range vectors {
		h, err := foreignhash.Read(v.text)
		if err != nil {
			t.Errorf("%s: %v", v.from, err)
			continue
		}
		if !h.Matches(v.password) {
			t.Errorf("%s: %q does not open %s", v.from, v.password, v.text)
		}
		for _, wrong := range []string{"", "x" + v.password, v.password + "\x00", strings.ToUpper(v.password) + "z", v.password[:len(v.password)/2]} {
			if h.Matches(wrong) {
				t.Errorf("%s: %q opens it", v.from, wrong)
			}
		}
		if !strings.Contains(h.Format, "$") || strings.Contains(h.Format, v.text[len(v.text)-10:]) {
			t.Errorf("%s: the format is %q", v.from, h.Format)
		}
	}
}

// The RFCs have salts as text and keys as hexadecimal digits; here both are in base64.
func TestVectorsOfRFCs(t *testing.T) {
	for _, v := range []struct{ from, text, password string }{
		{"RFC 6070, 4096 rounds", "$pbkdf2$4096$c2FsdA$SwB5AbdlSJq.rUnZJvch0GWkKcE", "password"},
		{"RFC 7914 section 12, the second", "$scrypt$ln=10,r=8,p=16$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWIurzDZLiKjiG/xCSedmDDaxyevuUqD7m2DYMvfoswGQA", "password"},
		{"RFC 7914 section 12, the third", "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw", "pleaseletmein"},
	} {
		h, err := foreignhash.Read(v.text)
		if err != nil || !h.Matches(v.password) || h.Matches(v.password+".") {
			t.Errorf("%s: %v", v.from, err)
		}
	}
}

// The README of Firebase's own scrypt utility has this account.
const firebaseParameters = `hash_config {
  algorithm: SCRYPT,
  base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,
  base64_salt_separator: Bw==,
  rounds: 8,
  mem_cost: 14,
}`

func TestVectorOfFirebase(t *testing.T) {
	fb, err := foreignhash.ParseFirebase(firebaseParameters)
	if err != nil {
		t.Fatal(err)
	}
	const text = "firebase$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=="
	for _, text := range []string{text, strings.NewReplacer("+", "-", "/", "_").Replace(text)} {
		found, err := foreignhash.ReadImported(text, fb)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(found.Kept, "jxspr8Ki0RYycVU8") {
			t.Error("the row has the signer key")
		}
		h, err := foreignhash.Read(found.Kept)
		if err != nil || !h.Matches("user1password") || h.Matches("user1passwore") {
			t.Errorf("%v", err)
		}
	}
	if _, err := foreignhash.ReadImported(text, nil); !errors.Is(err, foreignhash.ErrParameters) {
		t.Errorf("without the parameters: %v", err)
	}
}

// What other systems write becomes the one form of its algorithm.
func TestNotationsOfOtherSystems(t *testing.T) {
	for _, v := range []struct{ text, kept, password string }{
		// The test suites of Django (auth_tests/test_hashers.py): password "lètmein".
		{"pbkdf2_sha256$1500000$seasalt$P4UiMPVduVWIL/oS1GzH+IofsccjJNM5hUTikBvi5to=", "$pbkdf2-sha256$1500000$c2Vhc2FsdA$P4UiMPVduVWIL/oS1GzH.IofsccjJNM5hUTikBvi5to", ""},
		{"bcrypt$$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"},
		{"scrypt$16384$SodiumChloride$8$1$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw==",
			"$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw", "pleaseletmein"},
		{"pbkdf2_sha1$4096$salt$SwB5AbdlSJq+rUnZJvch0GWkKcE=", "$pbkdf2$4096$c2FsdA$SwB5AbdlSJq.rUnZJvch0GWkKcE", "password"},
		{"$pbkdf2-sha1$i=4096,l=20$c2FsdA$SwB5AbdlSJq+rUnZJvch0GWkKcE", "$pbkdf2$4096$c2FsdA$SwB5AbdlSJq.rUnZJvch0GWkKcE", "password"},
		// Version 3, HMAC-SHA-1, 4096 rounds, four bytes of salt, and the key of RFC 6070.
		{"AQAAAAAAABAAAAAABHNhbHRLAHkBt2VImr6tSdkm9yHQZaQpwQ==", "$pbkdf2$4096$c2FsdA$SwB5AbdlSJq.rUnZJvch0GWkKcE", "password"},
	} {
		found, err := foreignhash.ReadImported(v.text, nil)
		if err != nil || found.Kept != v.kept {
			t.Errorf("%s: %q, %v", v.text, found.Kept, err)
			continue
		}
		if h, err := foreignhash.Read(found.Kept); err != nil || v.password != "" && !h.Matches(v.password) {
			t.Errorf("%s: does not open, %v", v.text, err)
		}
	}
}
