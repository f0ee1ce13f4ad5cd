// Package zkworkertest holds package zkworker to its promise with a real ZooKeeper.
// It is not beside it because the module of idworker takes on no test servers. There
// is only test code.
package zkworkertest
