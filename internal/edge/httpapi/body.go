package httpapi

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"github.com/flakepass/flakepass/internal/edge/render"
)

// maxBody is the largest body that a request may bring, in bytes.
const maxBody = 8 << 10

// bind reads a JSON body into v. It takes exactly one object, in valid UTF-8,
// with known names, each at most once and in the right case: whatever two
// parsers might read differently is refused.
//
// What the header of the request gives away is refused before the body is asked
// for: a client that sent Expect: 100-continue need not send it (RFC 9110
// section 10.1.1).
func bind(c *gin.Context, v any) error {
	_, err := bindBody(c, v)
	return err
}

// bindBody is bind that returns the body, too.
func bindBody(c *gin.Context, v any) ([]byte, error) {
	body, err := read(c, "application/json", errMediaType, errBody)
	if err != nil {
		return nil, err
	}
	// null would be taken for any type, and leave it as it is.
	if body = bytes.TrimLeft(body, " \t\r\n"); len(body) == 0 || body[0] != '{' {
		return nil, errBody
	}
	if err := json.Unmarshal(body, v, json.RejectUnknownMembers(true)); err != nil {
		// What the decoder says may show a value: a password with a typing error
		// in the JSON around it.
		return nil, errBody
	}
	return body, nil
}

// read is the body of a request, if it is of that kind, in UTF-8 if it says so,
// and not too large. It fails with foreign for another kind, with errLate if it does not
// come whole within the server's limit of time, and with broken if it does not otherwise.
func read(c *gin.Context, kind string, foreign, broken error) ([]byte, error) {
	got, params, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	charset, given := params["charset"]
	if err != nil || got != kind || (given && !strings.EqualFold(charset, "utf-8")) {
		return nil, foreign
	}
	// No coding is undone here: one that some proxy undoes and another does not
	// would be two readings of one body.
	if len(c.Request.Header["Content-Encoding"]) > 0 {
		c.Header("Accept-Encoding", "identity") // RFC 9110 section 15.5.16
		return nil, errCoding
	}
	if c.Request.ContentLength > maxBody {
		if c.Request.ProtoMajor < 2 { // a connection of HTTP/2 has other requests on it
			c.Header("Connection", "close") // or the server would wait for the body first
		}
		return nil, errTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, maxBody))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, errTooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, errLate
	}
	if err != nil {
		return nil, broken
	}
	return body, nil
}

// A text is a string in a request: null is none.
type text string

// UnmarshalJSON takes a JSON string and nothing else.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '"' {
		return errBody
	}
	var s string
	err := json.Unmarshal(b, &s)
	*t = text(s)
	return err
}

// stringsOf are texts as the domain takes them.
func stringsOf(list []text) []string {
	return render.All(list, func(t *text) string { return string(*t) })
}
