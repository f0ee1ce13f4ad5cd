// Package sqlworkertest holds package sqlworker to its promise with real databases.
// It is not beside it because the module of idworker takes on no drivers of
// databases. There is only test code.
package sqlworkertest
