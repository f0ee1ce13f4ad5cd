package bench

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/flakepass/flakepass/idworker"
	"github.com/flakepass/flakepass/internal/domain/session"
)

// claims say in a JWT what flakepass.Identity says.
type claims struct {
	Username  string           `json:"username"`
	Role      string           `json:"role"`
	SessionID string           `json:"sid"`
	LastSeen  *jwt.NumericDate `json:"seen"`
	Idle      *jwt.NumericDate `json:"idle"`
	jwt.RegisteredClaims
}

// A jwtCheck verifies HS256 the way the library's documentation does: claims in
// a struct of their own, the method fixed, the parser made once.
type jwtCheck struct {
	parser *jwt.Parser
	key    []byte
}

func newJWTCheck() *jwtCheck {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return &jwtCheck{jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired()), key}
}

func (c *jwtCheck) keyOf(*jwt.Token) (any, error) { return c.key, nil }

func (c *jwtCheck) check(text string) (*claims, error) {
	var got claims
	_, err := c.parser.ParseWithClaims(text, &got, c.keyOf)
	return &got, err
}

// sign makes the JWTs of the same people, which end then.
func (c *jwtCheck) sign(tb testing.TB, sessions map[idworker.ID]session.Session, end time.Time) []string {
	tb.Helper()
	var texts []string
	for _, s := range sessions {
		text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
			Username: s.Username, Role: s.Role, SessionID: s.ID.String(),
			LastSeen: jwt.NewNumericDate(s.Seen), Idle: jwt.NewNumericDate(end),
			RegisteredClaims: jwt.RegisteredClaims{
				Subject: s.UserID.String(), IssuedAt: jwt.NewNumericDate(s.Seen), ExpiresAt: jwt.NewNumericDate(end),
			},
		}).SignedString(c.key)
		if err != nil {
			tb.Fatal(err)
		}
		texts = append(texts, text)
	}
	return texts
}
