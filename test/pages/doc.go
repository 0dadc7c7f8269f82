// Package pages reads README.md and the pages of docs/ for tests: what a reader is told to type, and what the page says is printed then.
//
// A fenced block of the language sh is typed line by line. In a block of the language console, what is typed follows "$ ", and the lines
// below it are what is printed, or the beginning of it if a line of three dots follows. Nothing else is typed.
package pages
