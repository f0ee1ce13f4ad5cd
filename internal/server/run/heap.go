package run

// roomBytes is memory that the garbage collector believes to be in use.
const roomBytes = 32 << 20

// spacious gives the collector room. It starts a cycle when the heap has
// doubled, and the heap of a server with few logins is some 10 MB: forty cycles
// a second under load. With the room they are a fifth as many, for at most
// 32 MB more; nobody touches the room itself, so it takes no memory. Who sets
// GOGC or GOMEMLIMIT has decided otherwise.
//
// The caller keeps what it returns for as long as the server runs.
func spacious(environ func(string) (string, bool)) []byte {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, set := environ(name); set {
			return nil
		}
	}
	return make([]byte, roomBytes)
}
