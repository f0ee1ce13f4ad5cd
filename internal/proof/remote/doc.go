// Package remote holds a flakepass.Remote to its promises against the real
// handler, session service and feed, in the time of a synctest bubble. It is not
// beside the Remote, because the public module requires no other one, also for
// its tests.
package remote
