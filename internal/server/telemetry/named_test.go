package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/server/telemetry"
)

type nameKey struct{}

// TestEveryLineOfARequestHasItsName: however deep it is logged, once, and with
// the name of the instance.
func TestEveryLineOfARequestHasItsName(t *testing.T) {
	var out bytes.Buffer
	log := telemetry.Named(telemetry.NewLog(&out, "json", slog.LevelInfo), "here:7", func(ctx context.Context) string {
		name, _ := ctx.Value(nameKey{}).(string)
		return name
	})
	ctx := context.WithValue(t.Context(), nameKey{}, "r-1")
	log.InfoContext(ctx, "deep")
	log.With("a", 1).WarnContext(ctx, "with more", "b", 2)
	log.InfoContext(ctx, "named already", "request_id", "r-1")
	log.InfoContext(t.Context(), "of no request")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []string{"r-1", "r-1", "r-1", ""} {
		var fields map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &fields); err != nil {
			t.Fatal(err)
		}
		if got, _ := fields["request_id"].(string); got != want || fields["instance"] != "here:7" || strings.Count(lines[i], "request_id") > 1 {
			t.Errorf("want %q in %s", want, lines[i])
		}
	}
}
