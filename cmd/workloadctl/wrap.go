package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// column is one of a table whose cells are wrapped to a width.
type column struct {
	title string
	width int
}

// writeWrapped writes a table that is never wider than its columns and two spaces between each. Cells that are longer go on in the
// lines below. Words and paths are taken apart where a reader would.
func writeWrapped(w io.Writer, columns []column, rows [][]string) error {
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.title
	}
	var out strings.Builder
	for _, row := range append([][]string{titles}, rows...) {
		cells, height := make([][]string, len(columns)), 1
		for i, c := range columns {
			cells[i] = wrapped(row[i], c.width)
			height = max(height, len(cells[i]))
		}
		for at := range height {
			var line strings.Builder
			for i, c := range columns {
				cell := ""
				if at < len(cells[i]) {
					cell = cells[i][at]
				}
				fmt.Fprintf(&line, "%-*s  ", c.width, cell)
			}
			out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// wrapped are the lines of a text. A line ends after a space or a comma, or before a dot, if there is one in its second half.
func wrapped(text string, width int) []string {
	var lines []string
	for utf8.RuneCountInString(text) > width {
		runes := []rune(text)
		cut := width
		for i := width; i > width/2; i-- {
			if runes[i] == '.' || runes[i-1] == ' ' || runes[i-1] == ',' {
				cut = i
				break
			}
		}
		lines = append(lines, strings.TrimRight(string(runes[:cut]), " "))
		text = string(runes[cut:])
	}
	return append(lines, text)
}
