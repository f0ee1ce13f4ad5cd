// Package supply checks what flakepass is made of and how it is delivered: that
// the same sources make the same program, whose licences are in it, that the
// list of its parts is right, that a known vulnerability stops a build, and that
// the image and the compose file fit the program. There is only test code.
package supply
