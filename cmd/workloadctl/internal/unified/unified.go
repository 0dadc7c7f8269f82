package unified

import (
	"fmt"
	"strings"
)

// context is how many unchanged lines surround a change.
const context = 3

// line is one line of a comparison: unchanged, taken away or added.
type line struct {
	mark byte // ' ', '-' or '+'
	text string
}

// Diff returns the difference between two texts, empty if there is none. The names head it.
func Diff(fromName, toName, from, to string) string {
	if from == to {
		return ""
	}
	lines := compare(split(from), split(to))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", fromName, toName)
	for start := nextChange(lines, 0); start < len(lines); {
		end := start + 1
		for next := nextChange(lines, end); next < len(lines) && next-end <= 2*context; next = nextChange(lines, end) {
			end = next + 1
		}
		writeHunk(&out, lines, max(start-context, 0), min(end+context, len(lines)))
		start = nextChange(lines, end)
	}
	return out.String()
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func nextChange(lines []line, from int) int {
	for from < len(lines) && lines[from].mark == ' ' {
		from++
	}
	return from
}

func writeHunk(out *strings.Builder, lines []line, start, end int) {
	count := func(lines []line, mark byte) (n int) {
		for _, l := range lines {
			if l.mark != mark {
				n++
			}
		}
		return n
	}
	position := func(before, length int) string {
		if length == 0 {
			return fmt.Sprintf("%d,0", before)
		}
		return fmt.Sprintf("%d,%d", before+1, length)
	}
	before, hunk := lines[:start], lines[start:end]
	fmt.Fprintf(out, "@@ -%s +%s @@\n", position(count(before, '+'), count(hunk, '+')), position(count(before, '-'), count(hunk, '-')))
	for _, l := range hunk {
		fmt.Fprintf(out, "%c%s\n", l.mark, l.text)
	}
}

// compare finds the longest common subsequence. Its table has the product of the numbers of lines that differ, which manifests keep
// small.
func compare(from, to []string) []line {
	var head, tail []line
	for len(from) > 0 && len(to) > 0 && from[0] == to[0] {
		head = append(head, line{' ', from[0]})
		from, to = from[1:], to[1:]
	}
	for len(from) > 0 && len(to) > 0 && from[len(from)-1] == to[len(to)-1] {
		tail = append([]line{{' ', from[len(from)-1]}}, tail...)
		from, to = from[:len(from)-1], to[:len(to)-1]
	}
	return append(append(head, walk(from, to, lengths(from, to))...), tail...)
}

// lengths has the length of the longest common subsequence of each pair of ends.
func lengths(from, to []string) [][]int {
	table := make([][]int, len(from)+1)
	for i := range table {
		table[i] = make([]int, len(to)+1)
	}
	for i := len(from) - 1; i >= 0; i-- {
		for j := len(to) - 1; j >= 0; j-- {
			if from[i] == to[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

func walk(from, to []string, table [][]int) []line {
	var lines []line
	i, j := 0, 0
	for i < len(from) || j < len(to) {
		switch {
		case i < len(from) && j < len(to) && from[i] == to[j]:
			lines = append(lines, line{' ', from[i]})
			i, j = i+1, j+1
		case j == len(to) || i < len(from) && table[i+1][j] >= table[i][j+1]:
			lines = append(lines, line{'-', from[i]})
			i++
		default:
			lines = append(lines, line{'+', to[j]})
			j++
		}
	}
	return lines
}
