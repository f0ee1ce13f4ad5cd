package apitest_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/flakepass/flakepass/api/client"
	"github.com/flakepass/flakepass/api/flakepass"
	"github.com/flakepass/flakepass/api/wire"
)

// notSaid is what a request may have by the contract, and the Go client never sends, and why.
var notSaid = map[string]string{
	"GET /v1/admin/policy If-None-Match":  "the client keeps no answer",
	"POST /v1/introspect token_type_hint": "the server finds out by itself",
	"POST /v1/revoke token_type_hint":     "the server finds out by itself",
}

// notAsked are the operations that no method of the Go client asks, and why.
var notAsked = map[string]string{
	"GET /v1/verify":      "proxies ask it",
	"GET /v1/revocations": "flakepass.Remote reads it",
	"HEAD /healthz":       "see GET",
	"HEAD /readyz":        "see GET",
	"GET /openapi.yaml":   "it is for people and for generators",
}

// TestGoClientSaysAllOfTheContract: the client sends every parameter and every member of a body
// that the contract has, and none that it does not have. It is shown by calls of every method
// with all that it takes, and by others that each lack one thing, because some exclude others.
func TestGoClientSaysAllOfTheContract(t *testing.T) {
	t.Parallel()
	spec := load(t)
	spec.Servers = openapi3.Servers{{URL: "https://a"}}
	router, err := gorillamux.NewRouter(spec)
	if err != nil {
		t.Fatal(err)
	}
	heard := &refuser{router: router, said: map[string]map[string]bool{}}
	c, err := client.New(client.Options{URL: "https://a", HTTP: &http.Client{Transport: heard}})
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(c.As(flakepass.NewToken(7)))
	for i := range v.NumMethod() {
		if name := v.Type().Method(i).Name; name != "As" && name != "AsService" {
			callAll(t.Context(), v.Method(i))
			callAll(flakepass.NewPassiveContext(t.Context()), v.Method(i))
		}
	}
	checked := 0
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			name := method + " " + path
			said, may := heard.said[name], sayable(item, op)
			delete(heard.said, name)
			if said == nil && notRead[name] == "" && notAsked[name] == "" {
				t.Errorf("%s is asked by no method", name)
			}
			for what := range may {
				checked++
				if said != nil && said[what] == (notSaid[name+" "+what] != "") {
					t.Errorf("%s %s: the client says it is %v, and the reason why not is %q", name, what, said[what], notSaid[name+" "+what])
				}
			}
			for what := range said {
				if !may[what] && what != flakepass.PassiveHeader { // any request may be passive
					t.Errorf("%s: the client says %s, which the contract does not have", name, what)
				}
			}
		}
	}
	if len(heard.said) > 0 || checked < 100 {
		t.Errorf("%d were checked, and these are not in the contract: %v", checked, slices.Sorted(maps.Keys(heard.said)))
	}
}

// sayable are the parameters and the members of the body that an operation may have.
func sayable(item *openapi3.PathItem, op *openapi3.Operation) map[string]bool {
	may := map[string]bool{}
	for _, p := range slices.Concat(item.Parameters, op.Parameters) {
		if p.Value.In == "query" && p.Value.Name != "cursor" { // lists that go on are read to their end: see calls
			may["?"+p.Value.Name] = true
		}
		if p.Value.In == "header" {
			may[http.CanonicalHeaderKey(p.Value.Name)] = true
		}
	}
	if op.RequestBody != nil {
		for _, media := range op.RequestBody.Value.Content {
			inSchema(may, "", media.Schema.Value)
		}
	}
	return may
}

func inSchema(may map[string]bool, at string, s *openapi3.Schema) {
	for name, p := range s.Properties {
		may[at+name] = true
		inSchema(may, at+name+".", p.Value)
		if p.Value.Items != nil {
			inSchema(may, at+name+".", p.Value.Items.Value)
		}
	}
	for _, one := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
		inSchema(may, at, one.Value)
	}
}

// A refuser is a server that refuses everything, and keeps what was said.
type refuser struct {
	router routers.Router
	said   map[string]map[string]bool // by operation
}

// RoundTrip is called by the client.
func (l *refuser) RoundTrip(r *http.Request) (*http.Response, error) {
	name := r.Method + " " + r.URL.Path
	if route, _, err := l.router.FindRoute(r); err == nil {
		name = route.Method + " " + route.Path
	}
	said := l.said[name]
	if said == nil {
		said = map[string]bool{}
		l.said[name] = said
	}
	for p := range r.URL.Query() {
		said["?"+p] = true
	}
	for h := range r.Header {
		if !slices.Contains([]string{"Accept", "Authorization", "Content-Type", "User-Agent"}, h) {
			said[h] = true
		}
	}
	if r.Body != nil {
		body, _ := io.ReadAll(r.Body)
		var doc any
		if json.Unmarshal(body, &doc) == nil {
			for _, path := range members(nil, doc) {
				said[joined(path)] = true
			}
		} else if form, err := url.ParseQuery(string(body)); err == nil { // of OAuth
			for name := range form {
				said[name] = true
			}
		}
	}
	return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Request: r, Body: http.NoBody}, nil
}

// joined is a path without the numbers of lists.
func joined(path []any) string {
	var names []string
	for _, p := range path {
		if name, ok := p.(string); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, ".")
}

// callAll calls a method with all that it takes, and again without each field of its arguments.
func callAll(ctx context.Context, method reflect.Value) {
	var whole []reflect.Value
	for i := range method.Type().NumIn() {
		whole = append(whole, sample(ctx, method.Type().In(i)))
	}
	call := func(args []reflect.Value) {
		for _, result := range method.Call(args) {
			if result.Kind() == reflect.Func { // a list: it asks when it is ranged over
				result.Call([]reflect.Value{reflect.MakeFunc(result.Type().In(0), func([]reflect.Value) []reflect.Value { return []reflect.Value{reflect.ValueOf(false)} })})
			}
		}
	}
	call(whole)
	for i, arg := range whole {
		if arg.Kind() != reflect.Struct {
			continue
		}
		for f := range arg.NumField() {
			if !arg.Type().Field(f).IsExported() {
				continue
			}
			less := reflect.New(arg.Type()).Elem()
			less.Set(arg)
			less.Field(f).SetZero()
			args := slices.Clone(whole)
			args[i] = less
			call(args)
		}
	}
}

// sample is a value of a type, with all that it may have.
func sample(ctx context.Context, t reflect.Type) reflect.Value {
	for _, v := range []any{
		client.NewPassword("x"), client.NewDeviceCredential("x"), client.NewTicket("x"), flakepass.NewToken(7), netip.MustParseAddr("2001:db8::1"),
		time.Unix(1_800_000_000, 0), client.NewResetToken("x"), wire.Seconds(time.Hour), time.Hour, flakepass.ID(7),
	} {
		if reflect.TypeOf(v) == t {
			return reflect.ValueOf(v)
		}
	}
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Interface:
		if t == reflect.TypeFor[context.Context]() {
			return reflect.ValueOf(ctx)
		}
		v.Set(reflect.ValueOf(io.Discard))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(sample(ctx, t.Elem()))
	case reflect.Slice:
		v.Set(reflect.Append(v, sample(ctx, t.Elem())))
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(sample(ctx, t.Field(i).Type))
			}
		}
	default:
		panic("a sample of " + t.String())
	}
	return v
}
