// Package secondfactor is what a person proves beside the password: a code of an
// authenticator app (TOTP, RFC 6238), or, where the app is lost, one of ten
// recovery codes.
//
// [Service.Enrol] makes a secret, which counts once [Service.Confirm] was shown a
// code of it. [Service.Check] takes a code, and takes each once: the last time
// step is kept, and whoever writes it compares. The secret is kept encrypted
// under [Keys], recovery codes as hashes.
//
// The package knows no password and no login; package login joins them.
package secondfactor
