package limit_test

import (
	"reflect"
	"testing"

	"github.com/flakepass/flakepass/internal/domain/limit"
)

// TestEveryLimitHasAName: what is set by name is all that there is.
func TestEveryLimitHasAName(t *testing.T) {
	var l limit.Limits
	for _, name := range limit.Names() {
		rules := l.Of(name)
		if len(rules) == 0 {
			t.Errorf("%s has no rules", name)
		}
		for _, r := range rules {
			r.Count++
		}
	}
	var each func(v reflect.Value)
	each = func(v reflect.Value) {
		if r, ok := v.Interface().(limit.Rule); ok {
			if r.Count != 1 {
				t.Errorf("a rule has %d names, want 1", r.Count)
			}
			return
		}
		for i := range v.NumField() {
			f := v.Field(i)
			if f.Kind() != reflect.Array {
				each(f)
				continue
			}
			for j := range f.Len() {
				each(f.Index(j))
			}
		}
	}
	each(reflect.ValueOf(l))
	if l.Of("login-place") != nil {
		t.Error("a name that there is not has rules")
	}
}
