package account

// The least lengths of a password, in code points, for doors that tell people
// before they send one. [CheckPassword] and [Service.NewHashBeside] hold to them.
const (
	MinPasswordLength = minPassword // where it is the only factor
	MinPasswordBeside = minBeside   // beside a second factor
)
