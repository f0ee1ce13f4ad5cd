package apitest_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flakepass/flakepass/api/wire"
)

// documents are the types of package wire by their schemas.
var documents = map[string]any{
	"Me": wire.Me{}, "Session": wire.Session{}, "MySession": wire.MySession{}, "AdminSession": wire.UserSession{}, "Act": wire.Act{}, "Device": wire.Device{},
	"LoggedOutOthersPending": wire.LoggedOutOthers{}, "DeletionAskedPending": wire.DeletionAsked{}, "MyData": wire.MyData{}, "MyEvent": wire.MyEvent{},
	"User": wire.User{}, "Person": wire.Person{}, "OpenPasswordReset": wire.OpenReset{}, "ServiceKey": wire.ServiceKey{},
	"Stats": wire.Stats{}, "ClassLogins": wire.ClassLogins{}, "RoleNumbers": wire.Roles{}, "Estimate": wire.Estimate{}, "Instance": wire.Instance{}, "Sweep": wire.Sweep{},
	"Policy": wire.Policy{}, "PolicyChanged": wire.PolicyChanged{}, "Override": wire.Override{}, "Limits": wire.Limits{}, "LimitRule": wire.Limit{},
	"Effect": wire.Effect{}, "BeyondLimit": wire.BeyondLimit{}, "AuditEvent": wire.Event{}, "AuditActor": wire.Party{}, "AuditTarget": wire.Target{},
	"Verifications": wire.Verifications{}, "Verification": wire.Verification{}, "VerifiedIdentity": wire.Identity{}, "PolicyInForce": wire.Rule{}, "PolicyScope": wire.ScopeRule{},
	"ActiveToken": wire.Introspection{}, "LoggedOutAll": wire.LoggedOutAll{}, "LogoutPending": wire.Pending{}, "RegisterResponse": wire.Registered{},
	"FactorState": wire.FactorState{}, "PasswordResetsWithdrawn": wire.Withdrawn{},
	"Problem": wire.Problem{}, "FieldError": wire.FieldError{},
}

// namesOf are the names of a type in JSON.
func namesOf(v any) (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestDocumentsAreThoseOfTheContract: a type has the fields of its schema, and no other. What is
// only in the contract is never sent, and what is only in the type is not documented.
func TestDocumentsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	schemas := load(t).Components.Schemas
	for name, doc := range documents {
		schema := schemas[name]
		if schema == nil {
			t.Errorf("the contract has no %s", name)
			continue
		}
		if want, got := slices.Sorted(maps.Keys(schema.Value.Properties)), namesOf(doc); !slices.Equal(got, want) {
			t.Errorf("%s has\n%q in the contract, and %T has\n%q", name, want, doc, got)
		}
	}
}

// TestEventsOfTheStreamAreInTheContract, which has them as text.
func TestEventsOfTheStreamAreInTheContract(t *testing.T) {
	t.Parallel()
	text := load(t).Paths.Value("/v1/revocations").Get.Description
	for _, doc := range []any{wire.Start{}, wire.End{}, wire.SlotEnd{}, wire.Renamed{}, wire.Floor{}, wire.Beat{}} {
		for _, name := range namesOf(doc) {
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("the events do not have %s of %T", name, doc)
			}
		}
	}
}

// TestMeLeavesOutWhatTheContractSays: it is written without reflection, and without the fields
// that take a second look at the policy or the row.
func TestMeLeavesOutWhatTheContractSays(t *testing.T) {
	t.Parallel()
	schemas := load(t).Components.Schemas
	var me wire.Me
	var sent map[string]map[string]any
	_ = json.Unmarshal(must(json.Marshal(whole("", schemas["Me"].Value))), &me)
	_ = json.Unmarshal(me.AppendJSON(nil), &sent)
	for name, p := range schemas["Session"].Value.Properties {
		_, is := sent["session"][name]
		if is == strings.Contains(p.Value.Description, "in `GET /v1/me`") {
			t.Errorf("%s: sent is %v, and the contract says: %s", name, is, p.Value.Description)
		}
	}
}
