// Package breached looks passwords up in a list of stolen ones that lies on the
// disk: the text of "Pwned Passwords" (Have I Been Pwned), ordered by hash, as
// its downloader writes it, or any other file of the same form.
//
// A line is the SHA-1 of a password in hexadecimal, and, or not, a colon and how
// often that password was seen; the lines are in the order of the hashes. Such a
// file has some 40 GB. Nothing of it is loaded: a question is a binary search
// with one read of a hundred bytes for each halving, some 23 of them, and of one
// last block.
package breached
