package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Parameters of a MySQL URL. The driver takes more, and sends what it does not know to the
// server, as a variable of each session: flakepass sets those that its statements
// depend on itself, and any other may change what they mean.
var mysqlParams = []struct {
	name  string
	check func(text string) string // says what the text has to be; empty if it is
}{
	{"tls", trueOrFalse},
	{"timeout", lasts(100 * time.Millisecond)},
	{"readTimeout", lasts(3 * time.Second)}, // longer than the server waits for a row: it is the server that gives up
	{"writeTimeout", lasts(100 * time.Millisecond)},
	{"compress", trueOrFalse},
	{"connectionAttributes", func(string) string { return "" }},
	{"allowCleartextPasswords", trueOrFalse},
}

// trueOrFalse is strict for tls above all: a server that is not checked may be an
// attacker's, and gets the password.
func trueOrFalse(text string) string {
	if text == "true" || text == "false" {
		return ""
	}
	return "true or false"
}

func lasts(least time.Duration) func(string) string {
	const most = time.Minute
	return func(text string) string {
		if d, err := time.ParseDuration(text); err == nil && d >= least && d <= most {
			return ""
		}
		return fmt.Sprintf("a duration from %s to %s, such as 5s", showSpan(least), showSpan(most))
	}
}

// variableName is what the name of a parameter or a variable looks like. Anything else in its
// place may be part of a password, and is not shown.
var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z_]{1,63}$`) })

// checkParams reports everything that is wrong with the parameters, without their values.
// It takes them as they are written, as the driver does.
func checkParams(query string) error {
	if _, err := url.ParseQuery(query); err != nil {
		return errors.New("the part of the URL after ? is malformed; write name=value, joined by &, and percent-encode what is special")
	}
	names := make([]string, len(mysqlParams))
	for i, p := range mysqlParams {
		names[i] = p.name
	}
	given, unknown := map[string]string{}, false
	var wrong []string
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		name, text, _ := strings.Cut(pair, "=")
		if _, twice := given[name]; name == "" || twice {
			return errors.New("a parameter after ? in the URL has no name or is given twice; write each name=value once")
		}
		given[name] = text
		if i := slices.Index(names, name); i >= 0 {
			if want := mysqlParams[i].check(text); want != "" {
				wrong = append(wrong, name+" in the URL must be "+want)
			}
			continue
		}
		unknown = true
		if text == "" || !variableName().MatchString(name) {
			name = "a parameter after ?"
		}
		wrong = append(wrong, name+" in the URL is none that flakepass takes; remove it")
	}
	if given["allowCleartextPasswords"] == "true" && given["tls"] != "true" {
		wrong = append(wrong, "allowCleartextPasswords in the URL needs tls=true, or the password is sent unprotected")
	}
	if unknown {
		wrong = append(wrong, "flakepass takes "+strings.Join(names, ", "))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
