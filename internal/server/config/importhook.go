package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// parseHookURL takes https, and http on this machine: passwords go there.
func parseHookURL(dst *string, v string) error {
	if v == "" {
		*dst = ""
		return nil
	}
	u, ok := webURL(v)
	if !ok {
		return errors.New("this is not the URL of a server; write for example https://old.example.org/flakepass")
	}
	if u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return errors.New("write the URL without a user, a query and a fragment: it is shown, and " + prefix + "IMPORT_HOOK_SECRET says who asks")
	}
	if a, err := netip.ParseAddr(u.Hostname()); u.Scheme == "http" && u.Hostname() != "localhost" && (err != nil || !a.IsLoopback()) {
		return errors.New("passwords are sent there; write https, or http for localhost")
	}
	*dst = v
	return nil
}

// Lengths of the secret, in bytes: those of Standard Webhooks 1.0.
const minHookSecret, maxHookSecret = 24, 64

// parseHookSecret reads the bytes. No error repeats any.
func parseHookSecret(dst *Secret, v string) error {
	secret, err := base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(v, "whsec_"))
	if v != "" && (err != nil || len(secret) < minHookSecret || len(secret) > maxHookSecret) {
		return fmt.Errorf("the secret is not %d to %d bytes in base64; make one with: echo \"whsec_$(openssl rand -base64 32)\"", minHookSecret, maxHookSecret)
	}
	*dst = NewSecret(string(secret))
	return nil
}

// checkImportHook notes a hook that cannot be asked, or a secret for none.
func (l *loader) checkImportHook() {
	c := &l.config
	where, secret := c.ImportHookURL != "", !c.ImportHookSecret.IsZero()
	if where == secret || l.wrong["import_hook_url"] || l.wrong["import_hook_secret"] {
		return
	}
	missing, given := "IMPORT_HOOK_SECRET", "IMPORT_HOOK_URL"
	if secret {
		missing, given = given, missing
	}
	l.problems = append(l.problems, Problem{Variable: prefix + missing, Text: prefix + given + " is set and this is not; set both, or neither"})
}
