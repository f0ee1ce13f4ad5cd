package operator

import (
	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/account"
)

// Party is somebody or something in the record as a person names it: a number is
// an ID, anything else a name, a username in any spelling, as the record has it.
func Party(text string) (id idworker.ID, name string) {
	if n, err := idworker.ParseID(text); err == nil {
		return n, ""
	}
	if normal, err := account.NormalizeUsername(text); err == nil {
		return 0, normal
	}
	return 0, text
}
