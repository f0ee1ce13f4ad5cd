package lifecycletest

import (
	"os"
	"testing"

	"github.com/flakepass/flakepass/internal/proof/e2e"
)

func TestMain(m *testing.M) { os.Exit(e2e.Main(m)) }
