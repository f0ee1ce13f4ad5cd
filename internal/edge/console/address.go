package console

import (
	"net/http"

	"github.com/flakepass/flakepass/internal/edge/clientaddr"
)

// address is where a request comes from, for the log and the record. The API
// tells the operator what is wrong with the headers of a proxy.
func (u *UI) address(r *http.Request) string {
	a, _ := clientaddr.Of(r, u.TrustedProxies)
	return clientaddr.Text(a)
}
