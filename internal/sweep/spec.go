package sweep

import (
	"strings"
	"time"
)

func hasZone(spec string) bool {
	return strings.Contains(spec, "TZ=")
}

func everyOf(spec string) (time.Duration, bool) {
	text, ok := strings.CutPrefix(strings.TrimSpace(spec), "@every ")
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(strings.TrimSpace(text))
	return d, err == nil
}
