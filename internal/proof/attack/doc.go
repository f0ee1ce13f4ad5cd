// Package attack attacks the real program, alone and behind a real nginx with
// docs/deploy/nginx.conf: what a stranger on the network can send, and what a
// user can who means harm. docs/threats.md lists the attacks, and the tests here
// and elsewhere that show each of them to fail. It holds tests only.
//
// "make attack" runs it with the numbers that are too large for every day.
package attack
