package client_test

import (
	"encoding/json"
	"testing"

	"github.com/flakepass/flakepass/api/client"
)

const fullInstance = `{"id":"4HQZ","name":"web-1:4711","version":"1.4.0","worker":12,"started_at":"2026-11-21T09:12:33.123Z","seen_at":"2026-11-21T11:40:01.874Z",` +
	`"silent_ms":12,"not_heard_of":true,"horizon_age_ms":431,"revocation_bound_ms":5000,"answers":{"memory":3,"redis":2,"database":1},` +
	`"remembered_logins":9,"database_ms":0.412,"database_failed":1,"redis":"ok","redis_ms":12.007,"clock_ahead_ms":-3,"troubles":["x"]}`

const bareInstance = `{"id":"4HQZ","name":"","version":"","worker":0,"started_at":"2026-11-21T09:12:33.123Z","seen_at":"2026-11-21T11:40:01.874Z",` +
	`"silent_ms":0,"not_heard_of":false,"revocation_bound_ms":0,"answers":{"memory":0,"redis":0,"database":0},` +
	`"remembered_logins":0,"database_ms":0,"database_failed":0,"redis":"","redis_ms":0,"clock_ahead_ms":0,"troubles":[]}`

// TestAnInstanceAsJSONIsThatOfTheAPI: whoever keeps what the client was told has
// the names and the units of the server.
func TestAnInstanceAsJSONIsThatOfTheAPI(t *testing.T) {
	for _, want := range []string{fullInstance, bareInstance} {
		var i client.Instance
		if err := json.Unmarshal([]byte(want), &i); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal([]client.Instance{i}); err != nil || string(got) != "["+want+"]" {
			t.Errorf("got  %s, %v\nwant [%s]", got, err, want)
		}
		if (i.Horizon < 0) != (want == bareInstance) {
			t.Errorf("the horizon is %v", i.Horizon)
		}
	}
	for _, bad := range []string{`{}`, `{"id":"x"}`, `[]`, `{"id":"x","seen_at":"2026-11-21T11:40:01.874Z","silent_ms":-1}`} {
		if err := json.Unmarshal([]byte(bad), new(client.Instance)); err == nil {
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
	f.Fuzz(func(t *testing.T, text []byte) {
		var one, two client.Instance
		if json.Unmarshal(text, &one) != nil {
			return
		}
		first, err := json.Marshal(one)
		if err == nil {
			err = json.Unmarshal(first, &two)
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if second, err := json.Marshal(two); err != nil || string(second) != string(first) {
			t.Errorf("%s, and then %s, %v", first, second, err)
		}
	})
}
