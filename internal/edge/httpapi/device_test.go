package httpapi_test

import (
	"strings"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/session"
)

// TestClientSaysWhatItIs: the login has the device, and the answer says how it is kept. An
// unknown class begins no login, and a strange name does not prevent one.
func TestClientSaysWhatItIs(t *testing.T) {
	for device, want := range map[string]string{
		``:                          `{"class":"other"}`,
		`,"device":{}`:              `{"class":"other"}`,
		`,"device":{"class":""}`:    `{"class":"other"}`,
		`,"device":{"class":"tv"}`:  `{"class":"tv"}`,
		`,"device":{"name":"Shed"}`: `{"class":"other","name":"Shed"}`,
		`,"device":{"class":"phone","name":"  Ada’s\u202e   phone\u0000"}`: `{"class":"phone","name":"Ada’s phone"}`,
		`,"device":{"class":"watch","name":"x"}`:                           "422 device.class unknown_value",
		`,"device":{"class":"PHONE"}`:                                      "422 device.class unknown_value",
		`,"device":null`:                                                   "400",
		`,"device":"phone"`:                                                "400",
		`,"device":{"class":null}`:                                         "400",
		`,"device":{"class":"phone","model":"x"}`:                          "400",
	} {
		w := &world{}
		status, body := ask(t, handler(t, w, nil), "POST", "/v1/login", `{"username":"alice","password":"`+password+`"`+device+`}`)
		refused, code, _ := strings.Cut(want, " ")
		if !strings.HasPrefix(want, "{") {
			if status == 200 || !strings.HasPrefix(refused, "4") || len(w.devices) != 0 {
				t.Errorf("%s: %d, began %d logins; want %s", device, status, len(w.devices), want)
			}
			for part := range strings.FieldsSeq(code) {
				if status != 422 || !strings.Contains(body, `"`+part+`"`) {
					t.Errorf("%s: %d %s, want %s", device, status, body, want)
				}
			}
			continue
		}
		if status != 200 || !strings.Contains(body, `"device":`+want) || len(w.devices) != 1 {
			t.Errorf("%s: %d %s, want %s", device, status, body, want)
			continue
		}
		if d := w.devices[0]; d.ClassName() == session.OtherDevice && d.Label() == "" && d != nil || !strings.Contains(want, `"class":"`+d.ClassName()+`"`) || !strings.Contains(want, d.Label()) {
			t.Errorf("%s: the login is on %+v, want %s", device, d, want)
		}
	}
}
