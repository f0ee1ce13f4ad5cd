package apitest_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
)

// TestGoClientReadsAllOfALogin: the answers to a login and to an issue have every member that
// the contract knows, and the client gives each of them to its caller.
func TestGoClientReadsAllOfALogin(t *testing.T) {
	token := flakepass.NewToken(412873650192384001)
	const at = "2026-12-21T09:12:33.123Z"
	members := map[string]any{
		"token": token.Reveal(), "token_type": "Bearer", "session_id": token.ID().String(), "device": map[string]any{"class": "phone"},
		"expires_at": at, "idle_expires_at": at, "device_credential": "fpd_x", "deletion_cancelled": true,
	}
	issued := maps.Clone(members)
	maps.Copy(issued, map[string]any{"user_id": "7", "username": "alice", "created": true, "auth_method": "sms", "auth_time": at})
	schemas := load(t).Components.Schemas
	for name, doc := range map[string]map[string]any{"LoginResponse": members, "IssueResponse": issued} {
		got, want := slices.Sorted(maps.Keys(doc)), slices.Sorted(maps.Keys(schemas[name].Value.Properties))
		if !slices.Equal(got, want) {
			t.Errorf("%s has %q in the contract, and %q here: add what is new to both, and to api/client", name, want, got)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]map[string]any{"/v1/login": members, "/v1/issue": issued}[r.URL.Path])
	}))
	defer server.Close()
	c, err := client.New(client.Options{URL: server.URL, Key: func(context.Context) (flakepass.ServiceKey, error) {
		return flakepass.NewServiceKey(token.ID()), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	login, err := c.Login(t.Context(), client.Credentials{Username: "alice"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.Issue(t.Context(), client.Issue{UserID: 7, Method: "sms"})
	if err != nil {
		t.Fatal(err)
	}
	for _, answer := range []any{login, other, other.Login} {
		for v, i := reflect.ValueOf(answer), 0; i < v.NumField(); i++ {
			if v.Field(i).IsZero() {
				t.Errorf("%T has no %s", answer, v.Type().Field(i).Name)
			}
		}
	}
}
