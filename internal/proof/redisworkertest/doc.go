// Package redisworkertest holds package redisworker to its promise with real
// servers. It is not beside it because the module of idworker takes on no test
// servers. There is only test code.
package redisworkertest
