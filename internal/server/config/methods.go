package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A method is kept in a column of 64 characters, and is a label of a metric.
var method = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._:-]{0,63}$`) })

// mostMethods bounds the series of the metric.
const mostMethods = 64

// password is the method of a login with a password here.
const password = "pwd"

func parseMethods(dst *[]string, v string) error {
	var all []string
	for _, item := range strings.Split(v, ",") {
		item = strings.TrimSpace(item)
		switch {
		case item == password:
			return fmt.Errorf("%s is the method of a login with a password here; give that of another system another name, such as ldap", quoted(item))
		case !method().MatchString(item):
			return fmt.Errorf("%s is no method; write 1 to 64 lower-case letters, digits and . _ : -, for example sms or oidc:apple", quoted(item))
		case !slices.Contains(all, item):
			all = append(all, item)
		}
	}
	if len(all) > mostMethods {
		return fmt.Errorf("these are %d methods; write at most %d", len(all), mostMethods)
	}
	*dst = all
	return nil
}
