package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// plainWidth is the width where there is no terminal to ask.
const plainWidth = 80

// widthOf is the width of the terminal that is written to.
func widthOf(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok {
		return plainWidth
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		return plainWidth
	}
	return width
}

// wrapWords are the lines of a text, which end only between words. A word that is longer than a line has one for itself.
func wrapWords(text string, width int) []string {
	return wrapped(strings.Fields(text), " ", width)
}

// wrapPath are the lines of a path, which begin only with the name of a field.
func wrapPath(path string, width int) []string {
	return wrapped(pathPart.FindAllString(path, -1), "", width)
}

var pathPart = regexp.MustCompile(`[^.,]+[.,]*`)

// wrapped puts as many parts into each line as fit.
func wrapped(parts []string, between string, width int) (lines []string) {
	line := ""
	for i, part := range parts {
		longer := line + between + part
		switch {
		case i == 0:
			line = part
		case utf8.RuneCountInString(longer) > width:
			lines, line = append(lines, line), part
		default:
			line = longer
		}
	}
	return append(lines, line)
}
