package wire

// A ServiceKey is the key of a service, without its secret.
type ServiceKey struct {
	ID        ID       `json:"id"` // public
	UserID    ID       `json:"user_id"`
	Name      string   `json:"name"`
	Scopes    []string `json:"scopes"` // verify, revoke; a newer server may know more
	CreatedAt Time     `json:"created_at"`
	Creator   Party    `json:"created_by,omitzero"` // zero for a command on the server
	ExpiresAt Time     `json:"expires_at,omitzero"` // zero: never
	RevokedAt Time     `json:"revoked_at,omitzero"` // zero: it was not
	UsedAt    Time     `json:"used_at,omitzero"`    // the beginning of the last hour in which it was used; zero: never
}

// Complete is documented in the package.
func (k ServiceKey) Complete() bool {
	return k.ID != 0 && k.UserID != 0 && k.Name != "" && len(k.Scopes) > 0 && !k.CreatedAt.IsZero()
}
