// Package publish checks what others get of a release: it makes a module proxy
// out of the working tree, in a folder, and acts as those who install the
// program or import the public modules. There is only test code.
package publish
