package apitest

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

// transportHeaders may be on any answer: they are about the message, the
// connection or the browser, not about the operation. All others must be declared.
var transportHeaders = []string{
	"Connection", "Content-Length", "Content-Type", "Date", "Keep-Alive", "Vary",
	"Content-Security-Policy", "Referrer-Policy", "Strict-Transport-Security", "X-Content-Type-Options",
}

// timesLeft may be on any answer to a request that brings a token, and then are
// what components/headers says.
var timesLeft = map[string]string{"X-Auth-Expires-In": "ExpiresIn", "X-Auth-Idle-Expires-In": "IdleExpiresIn"}

// check compares an answer with the contract and says what is wrong with it.
// The words never contain a value out of the answer.
func (c *contract) check(req *http.Request, resp *http.Response, body []byte) (seen Exchange, faults []string) {
	seen.Status = resp.StatusCode
	var want *openapi3.Response
	route, err := c.routeOf(req)
	switch {
	case errors.Is(err, routers.ErrMethodNotAllowed):
		want = c.methodNotAllowed
		if resp.StatusCode != http.StatusMethodNotAllowed {
			return seen, []string{"the path has no such method, want 405"}
		}
		faults = c.checkAllow(req, resp.Header.Get("Allow"))
	case err != nil:
		want = c.notFound
		if resp.StatusCode != http.StatusNotFound {
			return seen, []string{"the contract has no such path, want 404"}
		}
	default:
		seen.Operation = Operation{route.Method, route.Path}
		ref := route.Operation.Responses.Value(strconv.Itoa(resp.StatusCode))
		if ref == nil {
			return seen, []string{"the status is not declared"}
		}
		want = ref.Value
		if security := route.Operation.Security; security != nil && len(*security) > 0 {
			want = c.withTimesLeft(want, resp.Header)
		}
	}
	faults = append(faults, checkHeaders(want, resp.Header)...)
	doc, more := checkBody(req, want, resp, body)
	faults = append(faults, more...)
	if doc != nil && resp.StatusCode >= http.StatusBadRequest {
		seen.Code, _ = doc["code"].(string)
		faults = append(faults, checkProblem(doc, resp)...)
	}
	return seen, faults
}

// withTimesLeft is want, with those of the headers declared that are in got.
func (c *contract) withTimesLeft(want *openapi3.Response, got http.Header) *openapi3.Response {
	more := *want
	more.Headers = maps.Clone(want.Headers)
	for name, component := range timesLeft {
		if got.Values(name) != nil {
			more.Headers[name] = c.doc.Components.Headers[component]
		}
	}
	return &more
}

func checkHeaders(want *openapi3.Response, got http.Header) (faults []string) {
	declared := make(map[string]bool)
	for name, ref := range want.Headers {
		header := ref.Value
		declared[http.CanonicalHeaderKey(name)] = true
		switch lines := got.Values(name); {
		case len(lines) == 0:
			if header.Required {
				faults = append(faults, "header "+name+" is missing")
			}
		case len(lines) > 1:
			faults = append(faults, "header "+name+" is there more than once")
		default:
			var value any = lines[0]
			if number, err := strconv.ParseInt(lines[0], 10, 64); err == nil && header.Schema.Value.Type.Is("integer") {
				value = float64(number)
			}
			for _, fault := range checkSchema(header.Schema.Value, value) {
				faults = append(faults, "header "+name+fault)
			}
		}
	}
	for name := range got {
		if !declared[name] && !slices.Contains(transportHeaders, name) {
			faults = append(faults, "header "+quotable(name)+" is not declared")
		}
	}
	slices.Sort(faults)
	return faults
}

// checkBody returns the body as well, if it is a JSON object.
func checkBody(req *http.Request, want *openapi3.Response, resp *http.Response, body []byte) (map[string]any, []string) {
	switch {
	case len(body) > maxBody:
		return nil, []string{fmt.Sprintf("the body has more than %d bytes", maxBody)}
	case req.Method == http.MethodHead: // never has a body
		return nil, nil
	case len(want.Content) == 0:
		if len(body) > 0 {
			return nil, []string{"there is a body, want none"}
		}
		return nil, nil
	}
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	media = strings.ToLower(strings.TrimSpace(media))
	declared := want.Content[media]
	if declared == nil {
		return nil, []string{"the content type is not declared"}
	}
	if len(body) == 0 {
		return nil, []string{"there is no body"}
	}
	if declared.Schema == nil {
		return nil, nil
	}
	value, err := decode(body)
	if err != nil {
		return nil, []string{err.Error()}
	}
	var faults []string
	for _, fault := range checkSchema(declared.Schema.Value, value) {
		faults = append(faults, "body"+fault)
	}
	object, _ := value.(map[string]any)
	return object, faults
}

// checkAllow wants exactly the methods that the contract gives the path.
func (c *contract) checkAllow(req *http.Request, allow string) []string {
	var want []string
	for _, method := range []string{"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"} {
		probe := req.Clone(req.Context())
		probe.Method = method
		if _, err := c.routeOf(probe); err == nil {
			want = append(want, method)
		}
	}
	got := strings.FieldsFunc(allow, func(r rune) bool { return r == ',' || r == ' ' })
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return []string{"header Allow does not list exactly " + strings.Join(want, ", ")}
	}
	return nil
}
