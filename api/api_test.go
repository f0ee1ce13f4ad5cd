package api_test

import (
	"testing"

	"github.com/flakepass/flakepass/api"
)

func TestSpecReturnsACopy(t *testing.T) {
	clear(api.Spec())
	if got := string(api.Spec()[:8]); got != "openapi:" {
		t.Errorf("after a caller cleared its copy: got %q", got)
	}
}
