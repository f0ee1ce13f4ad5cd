package apitest

import (
	"net/http"
	"regexp"
	"testing"

	"github.com/gin-gonic/gin"
)

var parameter = regexp.MustCompile(`/:([a-z_]+)`)

// Served are the method and the path of every route of the API's handler, as the contract
// spells them.
func Served(t testing.TB, h http.Handler) (list [][2]string) {
	t.Helper()
	e, ok := h.(*gin.Engine)
	if !ok {
		t.Fatalf("the handler is a %T", h)
	}
	for _, r := range e.Routes() {
		list = append(list, [2]string{r.Method, parameter.ReplaceAllString(r.Path, "/{$1}")})
	}
	return list
}
