package apitest

import (
	"net/http"
	"strconv"
	"strings"
)

// checkProblem checks what a schema cannot say: that the parts of a problem
// document agree with each other and with the header.
func checkProblem(doc map[string]any, resp *http.Response) (faults []string) {
	code, _ := doc["code"].(string)
	must := func(ok bool, fault string) {
		if !ok {
			faults = append(faults, fault)
		}
	}
	kind, _ := doc["type"].(string)
	must(strings.HasSuffix(kind, "#"+code), "body /type: its anchor is not the code")
	must(doc["status"] == float64(resp.StatusCode), "body /status is not the status")
	must(doc["request_id"] == resp.Header.Get("X-Request-Id"), "body /request_id is not the header X-Request-Id")

	after, ok := doc["retry_after"].(float64)
	want := ""
	if ok {
		want = strconv.FormatInt(int64(after), 10)
	}
	must(resp.Header.Get("Retry-After") == want, "body /retry_after is not the header Retry-After")

	_, ok = doc["errors"]
	must(ok == (code == "validation_failed"), "body /errors is for validation_failed, and only for it")
	_, ok = doc["error"]
	must(ok == (resp.Header.Get("Content-Type") == "application/json"), "body /error is for application/json, and only for it")
	scope, ok := doc["scope"].(string)
	must(ok == (code == "scope_missing"), "body /scope is for scope_missing, and only for it")
	_, ok = doc["reasons"]
	must(ok == (code == "not_ready"), "body /reasons is for not_ready, and only for it")
	_, ok = doc["effect"]
	must(ok == (code == "confirmation_required"), "body /effect is for confirmation_required, and only for it")

	got := resp.Header.Get("WWW-Authenticate")
	// An error_description is free text; the schema of the header limits it.
	got, _, _ = strings.Cut(got, `, error_description="`)
	oauth, _ := doc["error"].(string)
	challenged := challenge(resp.StatusCode, code)
	if scope != "" {
		got = strings.TrimSuffix(got, `, scope="`+scope+`"`)
	}
	if oauth != "" && resp.StatusCode == http.StatusForbidden { // an OAuth client reads the error in the body
		challenged = ""
	}
	must(got == challenged || oauth == "invalid_client" && got == `Basic realm="flakepass"`, "header WWW-Authenticate does not fit the code")
	return faults
}

// challenge is the WWW-Authenticate of a problem, without its description
// (RFC 6750 section 3.1). Empty means that there is none.
func challenge(status int, code string) string {
	const bearer = `Bearer realm="flakepass"`
	switch {
	case code == "credentials_ambiguous":
		return bearer + `, error="invalid_request"`
	case code == "forbidden" || code == "second_factor_missing" || code == "scope_missing":
		return bearer + `, error="insufficient_scope"`
	case status != http.StatusUnauthorized:
		return ""
	case code == "token_missing" || code == "credentials_invalid" || code == "second_factor_required" || code == "second_factor_invalid" || code == "ticket_over":
		return bearer
	default:
		return bearer + `, error="invalid_token"`
	}
}
