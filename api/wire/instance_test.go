package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/flakepass/flakepass/api/wire"
)

const fullInstance = `{"id":"4HQZ","name":"web-1:4711","version":"1.4.0","worker":12,"started_at":"2026-11-21T09:12:33.123Z","seen_at":"2026-11-21T11:40:01.874Z",` +
	`"silent_ms":12,"not_heard_of":true,"horizon_age_ms":431,"revocation_bound_ms":5000,"answers":{"memory":3,"redis":2,"database":1},` +
	`"remembered_logins":9,"database_ms":0.412,"database_failed":1,"redis":"ok","redis_ms":12.007,"clock_ahead_ms":-3,"troubles":["x"]}`

const bareInstance = `{"id":"4HQZ","name":"","version":"","worker":0,"started_at":"2026-11-21T09:12:33.123Z","seen_at":"2026-11-21T11:40:01.874Z",` +
	`"silent_ms":0,"not_heard_of":false,"revocation_bound_ms":0,"answers":{"memory":0,"redis":0,"database":0},` +
	`"remembered_logins":0,"database_ms":0,"database_failed":0,"redis":"","redis_ms":0,"clock_ahead_ms":0,"troubles":[]}`

// TestAnInstanceAsJSONIsThatOfTheAPI: who keeps what was read has the names and
// the units of the server.
func TestAnInstanceAsJSONIsThatOfTheAPI(t *testing.T) {
	for _, want := range []string{fullInstance, bareInstance} {
		var i wire.Instance
		if err := json.Unmarshal([]byte(want), &i); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal([]wire.Instance{i}); err != nil || string(got) != "["+want+"]" {
			t.Errorf("got  %s, %v\nwant [%s]", got, err, want)
		}
		if !i.Complete() || (i.Horizon == nil) != (want == bareInstance) {
			t.Errorf("the horizon is %v", i.Horizon)
		}
	}
	for _, bad := range []string{`{}`, `{"id":"x"}`, `[]`, `{"id":"x","seen_at":"2026-11-21T11:40:01.874Z","silent_ms":-1}`} {
		var i wire.Instance
		if err := json.Unmarshal([]byte(bad), &i); err == nil && i.Complete() {
			t.Errorf("%s was taken", bad)
		}
	}
}

// Whatever is taken for an instance is written as one that reads the same.
func FuzzInstance(f *testing.F) {
	f.Add([]byte(fullInstance))
	f.Add([]byte(bareInstance))
	f.Add([]byte(`{"id":"x","seen_at":"2026-11-21T11:40:01+02:00","database_ms":1e300}`))
	f.Add([]byte(`{"id":"x","seen_at":"2026-11-21T11:40:01Z","redis_ms":0.0005}`))
	f.Add([]byte(`{"id":"x","seen_at":"0000-01-01T00:00:00+01:00"}`))
	f.Add([]byte(`{"id":"x","seen_at":"0001-01-01T00:00:00.0001Z"}`)) // is written as the zero time
	f.Fuzz(func(t *testing.T, text []byte) {
		var one, two wire.Instance
		if json.Unmarshal(text, &one) != nil || !one.Complete() {
			return
		}
		first, err := json.Marshal(one)
		if err == nil {
			err = json.Unmarshal(first, &two)
		}
		if err == nil && !two.Complete() {
			t.Fatalf("%s is not complete", first)
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if second, err := json.Marshal(two); err != nil || string(second) != string(first) {
			t.Errorf("%s, and then %s, %v", first, second, err)
		}
	})
}
