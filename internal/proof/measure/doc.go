// Package measure counts what the size and the shape of the code are: lines,
// files, functions, the methods of interfaces, and the modules that an importer
// takes on. The command stats prints it, and the tests of arch hold its limits.
package measure
