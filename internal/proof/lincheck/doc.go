// Package lincheck says whether the answers that many clients received about logins can be
// true: whether there is one order of all that happened, each thing at some
// instant between its question and its answer, that explains every answer
// (linearizability, Herlihy and Wing 1990). Porcupine looks for the order.
//
// A login that has ended may still be accepted by other instances for as long as
// the revocation bound. So a [Check] with a bound lets each accept have happened
// earlier by that much, and moves nothing else: a refusal of a living login, a
// login that its owner cannot use, a logout that ends another login and an accept
// after the bound are found with every bound. [MeasuredBound] is the smallest
// bound that explains a history.
//
// A user may have several logins at once, and the limit may change: see [Limit]. Then an end of
// one login is no other's, no more are accepted than the limit allows but for the bound after
// it was lowered, what a limit has ended does not come back, and what ends a user ends all.
//
// What was not answered, or answered with "undecided", may have happened at any
// time after its question, or never.
//
// All times are on one clock, so one process records all clients. That covers
// instances that stand still, too: a question that an instance had decided before
// it was stopped was asked before, and one that is asked while it stands still is
// open until it goes on. An answer that comes late is late by the clock of the one
// who asked, who knows nothing of the stop.
package lincheck
