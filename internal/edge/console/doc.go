// Package console serves the pages for people, below /console/: the overview,
// users, logins, the dial of the expiry policy, and the record of what was done.
// They call the verbs of packages login and operator and know no store.
//
// The first admin is made by a one-time link that the server prints when it
// starts without one. The holder of the link becomes the admin, so the link is
// treated as a password: it is drawn at random, kept only as a hash and only in
// memory, works once, and dies within [LinkLife] or with the process. Opening it
// does not use it up, since browsers and chat programs open links ahead of
// people.
//
// A browser holds the token of an ordinary login in a cookie that no script can
// read and no other site can send along (cookie.go); it is verified at every
// request (access.go). The pages are plain HTML that works without scripts.
// Everything they need is in the binary, and the Content-Security-Policy allows
// nothing else (assets.go). What they say is in languages/en.json and languages/zh-Hans.json.
package console
