package client_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

type sent func(*http.Request) (*http.Response, error)

func (f sent) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestPartOfASecondOfAnOverrideIsSaid: the times of an override are whole seconds, as all others are. Cut to seconds they
// would be other times, and half a second would be 0, which takes the override away.
func TestPartOfASecondOfAnOverrideIsSaid(t *testing.T) {
	t.Parallel()
	calls := 0
	c, err := client.New(client.Options{URL: "http://x", HTTP: &http.Client{Transport: sent(func(r *http.Request) (*http.Response, error) {
		calls++
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
	})}})
	if err != nil {
		t.Fatal(err)
	}
	part := wire.Seconds(90*time.Second + 700*time.Millisecond)
	for field, o := range map[string]wire.Override{
		"IdleTimeout": {IdleTimeout: part}, "AbsoluteLifetime": {AbsoluteLifetime: part}, "TouchInterval": {TouchInterval: part}, "": {IdleTimeout: wire.Seconds(time.Minute)},
	} {
		calls, o.DeviceClass = 0, "tv"
		_, err := c.As(flakepass.NewToken(7)).SetPolicy(t.Context(), client.PolicyChange{
			IdleTimeout: wire.Seconds(time.Hour), AbsoluteLifetime: wire.Seconds(2 * time.Hour), TouchInterval: wire.Seconds(time.Minute), SweepSchedule: "@hourly",
			Overrides: &[]wire.Override{{Role: "admin"}, o}, PolicyHow: client.PolicyHow{Version: 7},
		})
		if said := field != "" && strings.Contains(err.Error(), "Overrides[1]."+field); said != (calls == 0) || said != (field != "") {
			t.Errorf("%q: %d calls, %v", field, calls, err)
		}
	}
}
