// Package simulation runs the real session service on a simulated database,
// Redis, network and clock, many instances in one process, and looks for a world
// that breaks a promise about logins. Only the tests have code.
//
// Real are the service, the list of logins, the memory tier, the tier over Redis, the tier that writes
// uses behind, the limit on reads of rows, the feed with its rows, the policy in force,
// and, in some worlds, the HTTP handlers, the hub and a Remote that speaks with
// them over a transport in memory. The database is simulated: it takes the
// statements of internal/store/sqlstore one by one, with the locks, the isolation and
// the time limits of MySQL. What sqlstore does in SQL is thus tested in its own
// package.
//
// # What is held
//
// The judge knows every answer that a client received, and what has become visible
// in the database, with the time of each. The names in its messages are those of docs/model.md:
//
//   - End, PolicyEnd: no accept later than the bound after an end that was
//     acknowledged, or after the policy in force has ended a login and no use of it
//     was being written.
//   - NoFalseEnd: no refusal of a login while its row and the policy in force say
//     that it lives, and no sweep that clears such a row.
//   - NoReturn: a login that was refused because of the policy never lives again, and
//     an instance that has refused a login never accepts it again.
//   - Truth: when an end is acknowledged, the row says so.
//   - OneStory: when all faults have ended and two bounds have passed, every instance
//     and the Remote agree with the row, and every operator's list shows the logins
//     that live, and no others. A login whose end was committed late, and was not
//     acknowledged, is accepted for no longer than a memory keeps an answer.
//   - Limit: while one limit is in force, no more sessions of a user are accepted at once
//     than it allows, on all devices and on each class of them, but for the bound after it was lowered. What a limit has ended never
//     comes back, whatever the limit becomes. In the end no row has more.
//   - UseCounts: no login goes idle before the time that an answer has given, or within
//     the bound of a use that was acknowledged, unless the policy was made shorter.
//
// An end is held to its slot by these: what ends a user is acknowledged for every login that
// the user had, so Truth and End are about each of them; what ends one is acknowledged for that
// one, and for the others NoFalseEnd holds.
//
// # What varies
//
// A seed decides the bound, the policy, how many instances, people and clients there
// are and how busy, and what goes wrong most. Everything happens at an instant that
// the seed decides, so a failing seed fails again, and prints the story of its login:
// see TestRevocationHolds. A world with a Remote is an exception, because a Remote
// waits for a random time before it asks again.
//
//   - Commits take up to 20 s, longer than the feed looks back, and hold their locks; or
//     they are visible at once and only their answer is late; or they are rolled back.
//     That holds for logins, logouts, changes of accounts, ends of all logins, changes
//     of the policy, sweeps, uses, and second stamps. A client that got no answer tries again,
//     by another act.
//   - In half of the worlds users have up to 2 to 5 sessions. The limit is among what a change
//     of the policy lowers and raises, down to 1. People log in on devices that
//     they name or not, and end all their other logins, all, or another one.
//   - In half of the worlds policies have overrides: two classes of devices and two roles
//     have times of their own, longer or shorter, and a class a limit of its own. A change of
//     the policy sets others, or takes them away.
//   - Connections are slow, lose answers, are cut, or are cut for polls alone.
//   - Policies are made shorter, longer, or those of before again, and logins go idle
//     after 20 to 40 s. Sweeps clear rows by a policy that may be an old one.
//   - Instances are stopped, or killed with the uses that they have not written, and
//     start with nothing.
//   - The clocks of the instances and the database are apart by seconds or minutes, and
//     the rate of the database's clock changes. In some worlds it is set back by
//     up to 20 s. There the policy ends no login, for that ends by the policy are final
//     is promised for a clock that is not set back.
//   - Redis forgets, comes back with what it held earlier, and its messages are late,
//     twice there, or lost.
//
// TestEachRuleIsNeeded takes out one rule of docs/model.md after the other and holds
// that some world then breaks a promise. Of the rules there, those about a Remote and
// Prove are in real code that nothing here can stand around, or about several
// database servers; mutants and the model have them.
//
// # What does not vary
//
//   - There is one database server. There is no failover, except that the clock is
//     set back as by one, and no commit that was acknowledged is lost.
//   - There is no SQLite, and no deadlock that a database breaks.
//   - The clock of a database that is set back, together with policies that end logins.
//   - A logout by a token that its row has forgotten is not held to the bound. When two newer
//     logins were committed late and not acknowledged, a logout by the old token
//     finds no row, and nothing says whose stamp to renew. It is acknowledged, and
//     another instance may believe the token for as long as its memory keeps the answer.
//     The judge holds only the instance that acknowledged it to this end, and that only
//     without Redis, for the reason that follows.
//   - The refusal of a token whose row has forgotten it, by an instance that does not
//     remember it, is not stored anywhere. Until the bound after its end, an old copy in
//     Redis may yet have it accepted there. The judge allows that.
//   - No machine sleeps. The IDs are minted by a clock that is off by a second at most.
//   - The counts of the console are not asked: they are SQL.
package simulation
