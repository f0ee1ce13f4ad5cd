package config_test

import (
	"reflect"
	"testing"

	"github.com/flakepass/flakepass/internal/server/config"
)

// TestNoSecretHasADefault: what is not set is empty, so no two deployments
// share a password or a key.
func TestNoSecretHasADefault(t *testing.T) {
	secrets := 0
	var look func(at string, v reflect.Value)
	look = func(at string, v reflect.Value) {
		switch {
		case v.Type() == reflect.TypeFor[config.Secret]():
			if secrets++; !v.Interface().(config.Secret).IsZero() {
				t.Errorf("%s has a default", at)
			}
		case v.Type() == reflect.TypeFor[[]config.Secret]():
			if secrets++; v.Len() > 0 {
				t.Errorf("%s has a default", at)
			}
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() {
					look(at+"."+f.Name, v.Field(i))
				}
			}
		}
	}
	look("Config", reflect.ValueOf(mustLoad(t, nil)))
	if secrets < 6 {
		t.Errorf("%d secrets were found in the configuration: the search is wrong", secrets)
	}
}
