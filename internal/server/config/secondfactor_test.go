package config_test

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/server/config"
)

func key(b byte) []byte { return []byte(strings.Repeat(string(rune(b)), 32)) }

// Whatever makes 32 random bytes into text makes a key of it.
func TestSecondFactorKeysAreReadInEveryUsualSpelling(t *testing.T) {
	first, second := key('?'), key('k') // in base64 the first has a slash
	for _, text := range []string{
		hex.EncodeToString(first) + "," + hex.EncodeToString(second),
		strings.ToUpper(hex.EncodeToString(first)) + ", " + base64.StdEncoding.EncodeToString(second),
		base64.URLEncoding.EncodeToString(first) + "," + base64.RawStdEncoding.EncodeToString(second),
	} {
		cfg, err := config.Load(config.Options{Environ: []string{"FLAKEPASS_SECOND_FACTOR_KEY=" + text}})
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.SecondFactorKeys; len(got) != 2 || got[0].Reveal() != string(first) || got[1].Reveal() != string(second) {
			t.Errorf("%d keys, which are not the two of %q", len(got), text)
		}
	}
}

func TestSecondFactorSettingsThatAreWrongSayWhatToDo(t *testing.T) {
	good := hex.EncodeToString(key('k'))
	const planted = "planted-0123456789abcdef"
	for _, c := range []struct {
		environ []string
		want    string
	}{
		{[]string{"FLAKEPASS_SECOND_FACTOR_KEY=" + planted}, "key 1 is not 32 bytes in hexadecimal or base64; make one with: openssl rand -hex 32"},
		{[]string{"FLAKEPASS_SECOND_FACTOR_KEY=" + good + ",," + planted}, "key 2 is not 32 bytes"},
		{[]string{"FLAKEPASS_SECOND_FACTOR_KEY=" + good + "," + good}, "key 2 is there twice; remove one"},
		{[]string{"FLAKEPASS_SECOND_FACTOR_KEY=" + good[2:]}, "key 1 is not 32 bytes"},
		{[]string{"FLAKEPASS_SECOND_FACTOR=always"}, "FLAKEPASS_SECOND_FACTOR:"},
		{[]string{"FLAKEPASS_SECOND_FACTOR=admins", "FLAKEPASS_DATABASE=mysql://u:p@db/flakepass"}, "without a key no user can add one; make one with"},
	} {
		_, err := config.Load(config.Options{Environ: c.environ})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), planted) || strings.Contains(err.Error(), good[2:]) {
			t.Errorf("%q: %v, want %q, and no key", c.environ, err, c.want)
		}
	}
	for _, environ := range [][]string{
		{"FLAKEPASS_SECOND_FACTOR=admins"}, // with SQLite a key is made
		{"FLAKEPASS_SECOND_FACTOR=admins", "FLAKEPASS_DATABASE=mysql://u:p@db/flakepass", "FLAKEPASS_SECOND_FACTOR_KEY=" + good},
		{"FLAKEPASS_SECOND_FACTOR_KEY="},
	} {
		if _, err := config.Load(config.Options{Environ: environ}); err != nil {
			t.Errorf("%q: %v", environ, err)
		}
	}
}
