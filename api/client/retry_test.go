package client_test

import (
	"context"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
)

// counted is an [answering] that counts the calls that change something.
type counted struct {
	answering
	changes int
}

func (c *counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		c.changes++
	}
	return c.answering.RoundTrip(r)
}

// TestOnlyWhatIsListedIsRepeated: the list is in the comment of the package. Every method is called.
func TestOnlyWhatIsListedIsRepeated(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("client.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "// # Trying again")
	list, _, _ = strings.Cut(list, "No other call")
	var repeated []string
	synctest.Test(t, func(t *testing.T) {
		a := &counted{answering: answering{status: 503, after: "1"}}
		c, err := client.New(client.Options{URL: "https://a", HTTP: &http.Client{Transport: a}, Retries: 1})
		if err != nil {
			t.Fatal(err)
		}
		in := reflect.ValueOf(c.As(flakepass.NewToken(7)))
		for i := range in.NumMethod() {
			name, call := in.Type().Method(i).Name, in.Method(i)
			args := make([]reflect.Value, call.Type().NumIn())
			for n := range args {
				args[n] = argument(t, call.Type().In(n))
			}
			a.changes = 0
			call.Call(args)
			if a.changes < 2 {
				continue
			}
			if repeated = append(repeated, name); !strings.Contains(list, "[Client."+name+"]") {
				t.Errorf("%s is sent %d times and is not in the list", name, a.changes)
			}
		}
	})
	for _, name := range []string{"DeleteUser", "Introspect", "Issue", "Logout"} {
		if !slices.Contains(repeated, name) {
			t.Errorf("%s is not repeated", name)
		}
	}
}

// argument is one that the client sends: what is empty it may refuse itself.
func argument(t *testing.T, of reflect.Type) reflect.Value {
	switch of {
	case reflect.TypeFor[context.Context]():
		return reflect.ValueOf(t.Context())
	case reflect.TypeFor[flakepass.Token]():
		return reflect.ValueOf(flakepass.NewToken(8))
	case reflect.TypeFor[client.Issue]():
		return reflect.ValueOf(client.Issue{RequestID: "r-1"})
	}
	return reflect.Zero(of)
}
