// Package adminui serves the pages for people, below /console/. It has one
// page so far: the one that makes the first admin, opened by a one-time link
// that the server prints when it starts without an admin.
//
// Whoever holds the link becomes the admin, so the link is treated as a
// password: it is drawn at random, kept only as a hash and only in memory,
// works once, and dies within [LinkLife] or with the process. Opening it does
// not use it up, since browsers and chat programs open links ahead of people.
//
// The pages are plain HTML that works without scripts. Everything they need
// is in the binary, and the Content-Security-Policy allows nothing else. What
// they say is in texts.go.
package adminui
