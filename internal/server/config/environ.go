package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// environment is those of the variables that begin like ours.
func environment(environ []string) map[string]string {
	env := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && strings.HasPrefix(name, prefix) {
			env[name] = value
		}
	}
	return env
}

// links are the variables that Kubernetes puts into every container beside a
// service whose name begins with flakepass. The one that ends in _PORT holds
// a URL, which distinguishes it from a port that an operator tried to set.
var links = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^FLAKEPASS_([0-9A-Z_]+_)?(SERVICE_HOST|SERVICE_PORT(_[0-9A-Z_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)=|` +
		`^FLAKEPASS_([0-9A-Z_]+_)?PORT=(tcp|udp|sctp)://`)
})

// remotes are the variables of `flakepass remote`, which reads no setting. They
// may be set while another command runs.
var remotes = []string{prefix + "REMOTE_URL", prefix + "REMOTE_TOKEN", prefix + "REMOTE_TOKEN_FILE"}

// checkUnknown notes the variables that begin like ours and are not.
func (l *loader) checkUnknown() {
	known, keys := map[string]bool{}, l.keys()
	for _, name := range remotes {
		known[name] = true
	}
	for _, k := range keys {
		known[prefix+strings.ToUpper(k)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(l.env)) {
		if known[name] || strings.HasPrefix(name, prefix+"TEST_") || links().MatchString(name+"="+l.env[name]) {
			continue
		}
		text := "there is no such setting; unset it." + suggest(name, keys, func(k string) string { return prefix + strings.ToUpper(k) })
		if base, ok := strings.CutSuffix(name, "_FILE"); ok && known[base] {
			text = "only secrets are read from files; set " + base + " to the value itself"
		}
		l.problems = append(l.problems, Problem{Variable: shownKey(name), Text: text})
	}
}
